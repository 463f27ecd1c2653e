import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { WireItem, WireStreamQuery } from "../../sdk/requests.ts";
import type { Delivery, Event } from "../../sdk/wire.ts";
import { type Live, startLive } from "./live.ts";
import type { LiveState } from "./live-notes.ts";
import type { LiveSource } from "./live-source.ts";

const event = (id: string): WireItem => ({ kind: "event", event: { id, data: {} } as Event });
const delivery = (id: string): WireItem => ({
  kind: "delivery",
  delivery: { id, url: "https://a.example/hook", attempts: [] } as unknown as Delivery,
});

/** A stream that is open. */
interface OpenStream {
  after: string | undefined;
  tell: (item: WireItem) => void;
  state: (state: LiveState) => void;
  end: (error: Error) => void;
}

/** A service whose stream the test tells what to send. */
class FakeSource implements LiveSource {
  readonly opened: OpenStream[] = [];
  newest = "evt_0";
  lists: WireItem[] = [];
  past: () => Promise<WireItem[]> = async () => [];

  newestEvent = async () => this.newest;
  readLists = async () => this.lists;
  readPast = () => this.past();

  async *stream({ lastEventId, signal }: WireStreamQuery, state: (state: LiveState) => void) {
    const waiting: (WireItem | Error)[] = [];
    let wake = () => {};
    const put = (given: WireItem | Error) => {
      waiting.push(given);
      wake();
    };
    this.opened.push({ after: lastEventId, tell: put, state, end: put });
    signal?.addEventListener("abort", () => put(new Error("aborted")));
    state("live");
    for (;;) {
      const next = waiting.shift();
      if (next instanceof Error) throw next;
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, "it did not come true within 10 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

let names = 0;

/** A browser whose tabs read one service. */
function openBrowser(context: TestContext) {
  const source = new FakeSource();
  const name = `test ${process.pid} ${++names}`;
  const open = (tabName = name) => {
    const live = startLive(tabName, source);
    context.after(() => live.stop());
    const ids: string[] = [];
    live.onItems((items) => {
      for (const item of items) if (item.kind === "event") ids.push(item.event.id);
    });
    return { live, ids };
  };
  return { source, open, name };
}

const isLive = ({ live }: { live: Live }) => live.state() === "live";

test("two tabs read one stream, and both receive each event once and in order", async (context) => {
  const { source, open } = openBrowser(context);
  const [first, second] = [open(), open()];
  await until(() => isLive(first) && isLive(second));
  for (const id of ["evt_1", "evt_2", "evt_3"]) source.opened[0]?.tell(event(id));
  await until(() => first.ids.length === 3 && second.ids.length === 3);
  assert.deepEqual(second.ids, ["evt_1", "evt_2", "evt_3"]);
  assert.equal(source.opened.length, 1);
});

test("a tab that leads once the leader is closed continues after the last event, and reads what the stream does not repeat", async (context) => {
  const { source, open } = openBrowser(context);
  const [first, second] = [open(), open()];
  await until(() => isLive(first) && isLive(second));
  source.opened[0]?.tell(event("evt_1"));
  await until(() => second.ids.length === 1);
  source.lists = [delivery("dlv_1")];
  first.live.stop();
  await until(() => source.opened.length === 2);
  assert.equal(source.opened[1]?.after, "evt_1");
  await until(() => second.live.delivery("dlv_1") !== null);
  source.opened[1]?.tell(event("evt_1"));
  source.opened[1]?.tell(event("evt_2"));
  await until(() => second.ids.includes("evt_2"));
  assert.deepEqual(second.ids, ["evt_1", "evt_2"]);
});

test("a tab that was opened in the middle of the stream, and leads before it received an event, misses none", async (context) => {
  const { source, open } = openBrowser(context);
  const first = open();
  await until(() => isLive(first));
  source.newest = "evt_7";
  const second = open();
  await until(() => isLive(second));
  source.newest = "evt_9";
  first.live.stop();
  await until(() => source.opened.length === 2);
  assert.equal(source.opened[1]?.after, "evt_7");
});

test("tabs of different customers receive nothing of each other", async (context) => {
  const { source, open, name } = openBrowser(context);
  const [one, other] = [open(`${name} cust_1`), open(`${name} cust_2`)];
  await until(() => isLive(one) && isLive(other));
  assert.equal(source.opened.length, 2);
  source.opened[0]?.tell(event("evt_1"));
  source.opened[1]?.tell(event("evt_2"));
  await until(() => one.ids.length === 1 && other.ids.length === 1);
  assert.deepEqual([...one.ids, ...other.ids].sort(), ["evt_1", "evt_2"]);
});

test("after a cut, every tab knows that what it read may be stale", async (context) => {
  const { source, open } = openBrowser(context);
  const tabs = [open(), open()];
  await until(() => tabs.every(isLive));
  let gaps = 0;
  for (const { live } of tabs) live.onGap(() => gaps++);
  source.opened[0]?.state("reconnecting");
  await until(() => tabs.every(({ live }) => live.state() === "reconnecting"));
  source.opened[0]?.state("live");
  await until(() => gaps === 2);
});

test("a stream that the service refuses is asked for again, and the page says so meanwhile", async (context) => {
  const { source, open } = openBrowser(context);
  const tab = open();
  await until(() => isLive(tab));
  source.opened[0]?.end(new Error("the customer is gone"));
  await until(() => tab.live.state() === "reconnecting");
});

test("a tab that was stopped tells nobody anything, and the next one leads", async (context) => {
  const { source, open } = openBrowser(context);
  const first = open();
  await until(() => isLive(first));
  source.opened[0]?.tell(event("evt_1"));
  first.live.stop();
  const second = open();
  await until(() => isLive(second));
  source.opened[1]?.tell(event("evt_2"));
  await until(() => second.ids.length === 1);
  assert.deepEqual(first.ids, []);
});

test("the past is read once, and again only if the service could not be read", async (context) => {
  const { source, open } = openBrowser(context);
  const { live } = open();
  let reads = 0;
  source.past = async () => {
    reads += 1;
    if (reads === 1) throw new Error("away");
    return [delivery("dlv_1")];
  };
  live.recall();
  await until(() => reads === 1);
  await until(() => {
    live.recall();
    return live.delivery("dlv_1") !== null;
  });
  live.recall();
  assert.equal(reads, 2);
});

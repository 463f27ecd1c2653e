import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { joinTabs } from "./live-tabs.ts";

const BEAT_MS = 30_000;

/** Lets messages between tabs arrive, which no timer of a test stops. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, "it did not come true within 10 s");
    await settle();
  }
}

/** A tab that leads until it is ended. */
function openTab(context: TestContext, name: string) {
  const stop = new AbortController();
  context.after(() => stop.abort());
  const tab = { leads: 0, received: [] as string[], tell: (_note: string) => {}, close: () => stop.abort() };
  tab.tell = joinTabs<string>({
    name,
    signal: stop.signal,
    onNote: (note) => tab.received.push(note),
    welcome: () => "alive",
    lead: async (signal) => {
      tab.leads += 1;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      tab.leads -= 1;
    },
  });
  return tab;
}

test("one tab leads, a new one is told the present state, and the next leads when the first is closed", async (context) => {
  const name = `tabs ${process.pid} 1`;
  const first = openTab(context, name);
  await until(() => first.leads === 1);
  const second = openTab(context, name);
  await until(() => second.received.includes("alive"));
  first.tell("a");
  await until(() => second.received.includes("a"));
  assert.deepEqual([first.leads, second.leads], [1, 0]);
  assert.deepEqual(first.received, ["a"]);
  first.close();
  await until(() => second.leads === 1);
});

test("a leader whose page is frozen is silent: another tab leads in its place, but not while there are signs of life", async (context) => {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const name = `tabs ${process.pid} 2`;
  let isStolen = false;
  const frozen = new Promise<void>(() => {});
  navigator.locks
    .request(name, () => frozen)
    .catch(() => {
      isStolen = true;
    });
  const tab = openTab(context, name);
  const signs = new BroadcastChannel(name);
  context.after(() => signs.close());
  for (let beat = 0; beat < 10; beat++) {
    const before = tab.received.length;
    signs.postMessage({ note: "alive" });
    await until(() => tab.received.length > before);
    context.mock.timers.tick(BEAT_MS);
  }
  assert.equal(isStolen, false);
  context.mock.timers.tick(5 * BEAT_MS);
  await until(() => tab.leads === 1 && isStolen);
});

test("a leader that thaws after another tab has taken its place leads no more, and waits for its turn", async (context) => {
  const name = `tabs ${process.pid} 3`;
  const tab = openTab(context, name);
  await until(() => tab.leads === 1);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  void navigator.locks.request(name, { steal: true }, () => held);
  await until(() => tab.leads === 0);
  release();
  await until(() => tab.leads === 1);
});

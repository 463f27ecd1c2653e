/**
 * All ports share groups, each port gets the results of its own jobs in order, and the client of a port waits for none
 * of them.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type GroupReply, GroupWriter } from "./group-writer.ts";
import type { Job, JobResult, PushedRow, WrittenGroup } from "./jobs.ts";
import { WriterClient } from "./writer-client.ts";

const probe = (name: string): Job => ["probe", name];
const nameOf = (job: Job | undefined) => String(job?.[1]);

/** A database that writes a group when the test says so; the result of a job is its name. */
class Disk {
  readonly groups: string[][] = [];
  /** New deliveries that the next group makes. */
  pushed: PushedRow[] = [];
  readonly #writes: (() => void)[] = [];

  write(jobs: Job[]): Promise<WrittenGroup> {
    this.groups.push(jobs.map(nameOf));
    const results = jobs.map((job): JobResult => ({ value: nameOf(job) }));
    return new Promise((resolve) => this.#writes.push(() => resolve({ results, pushed: this.pushed.splice(0) })));
  }

  /** Ends the oldest group, and lets what follows happen. */
  async end(): Promise<void> {
    this.#writes.shift()?.();
    await nextTurn();
    await nextTurn();
  }
}

const delivery = (row: number): PushedRow => ["new", row, [], "", ""];

/** The values of a reply. */
const valuesOf = ({ results }: GroupReply) => results.map((result) => ("value" in result ? result.value : result));

test("jobs of all ports share a group, and each port gets one reply a group", async () => {
  const disk = new Disk();
  const groups = new GroupWriter((jobs) => disk.write(jobs), null);
  const replies: Record<"main" | "other", unknown[]> = { main: [], other: [] };
  const main = groups.open((reply) => replies.main.push(valuesOf(reply)));
  const other = groups.open((reply) => replies.other.push(valuesOf(reply)));
  main([probe("a")]);
  await nextTurn();
  main([probe("b"), probe("c")]);
  other([probe("x")]);
  main([probe("d")]);
  await disk.end();
  assert.deepEqual(disk.groups, [["a"], ["b", "c", "x", "d"]]);
  await disk.end();
  assert.deepEqual(replies, { main: [["a"], ["b", "c", "d"]], other: [["x"]] });
  await groups.idle();
});

test("a group takes what has arrived at the ports when it begins", async () => {
  const disk = new Disk();
  const arrived: Job[][] = [];
  const receive = () => {
    for (let jobs = arrived.shift(); jobs !== undefined; jobs = arrived.shift()) add(jobs);
  };
  const groups = new GroupWriter((jobs) => disk.write(jobs), null, { receive });
  const add = groups.open(() => {});
  arrived.push([probe("b")], [probe("c")]);
  add([probe("a")]);
  await nextTurn();
  assert.deepEqual(disk.groups, [["a", "b", "c"]]);
  arrived.push([probe("d")]);
  await disk.end();
  assert.deepEqual(disk.groups, [["a", "b", "c"], ["d"]]);
});

test("the new deliveries of every port's jobs go to the holder, also from groups in which it has no job", async () => {
  const disk = new Disk();
  const groups = new GroupWriter((jobs) => disk.write(jobs), null);
  const replies: Record<"main" | "holder", string[]> = { main: [], holder: [] };
  const note = (port: "main" | "holder") => (reply: GroupReply) => {
    replies[port].push([...valuesOf(reply), ...reply.pushed.map(([, row]) => `push ${row}`)].join(", "));
  };
  const main = groups.open(note("main"));
  const holder = groups.open(note("holder"));
  const write = async (add: (jobs: Job[]) => void, job: Job, ...leases: number[]) => {
    disk.pushed = leases.map(delivery);
    add([job]);
    await nextTurn();
    await disk.end();
  };
  await write(holder, ["hold", true]);
  await write(main, probe("a"), 1, 2);
  await write(holder, probe("x"), 3);
  await write(main, probe("b"));
  // The writer made the new deliveries of this group before it ran the job that ends the hold.
  await write(holder, ["hold", false], 4);
  assert.deepEqual(replies, { main: ["a", "b"], holder: ["true", "push 1, push 2", "x, push 3", "false, push 4"] });
});

test("the end of a hold leaves the hold of another port that has begun since", async () => {
  const disk = new Disk();
  const jobs: Job[] = [];
  const groups = new GroupWriter((group) => {
    jobs.push(...group);
    return disk.write(group);
  }, null);
  const pushes: Record<"former" | "holder", PushedRow[]> = { former: [], holder: [] };
  const former = groups.open(({ pushed }) => pushes.former.push(...pushed));
  const holder = groups.open(({ pushed }) => pushes.holder.push(...pushed));
  former([["hold", true]]);
  holder([["hold", true]]);
  former([["hold", false]]);
  await nextTurn();
  await disk.end();
  disk.pushed = [delivery(1)];
  former([probe("a")]);
  await nextTurn();
  await disk.end();
  assert.deepEqual(pushes, { former: [], holder: [delivery(1)] });
  assert.ok(!jobs.some(([kind, isHeld]) => kind === "hold" && isHeld === false), "the writer goes on pushing");
});

test("each group is observed at one port, and every port learns that the disk is full and that it has room again", async () => {
  let isFull = false;
  const groups = new GroupWriter((jobs) => {
    const results = jobs.map((job): JobResult => (isFull ? { error: "full" } : { value: nameOf(job) }));
    return { results, pushed: [] };
  }, null);
  const seen: Record<"main" | "other", unknown[]> = { main: [], other: [] };
  const main = groups.open(({ isFull, group }) => seen.main.push([isFull, group?.jobs]));
  groups.open(({ isFull, group }) => seen.other.push([isFull, group?.jobs]));
  for (const full of [false, true, true, false, false]) {
    isFull = full;
    main([probe("a"), probe("b")]);
    await groups.idle();
  }
  assert.deepEqual(seen.main.map(String), ["false,2", "true,2", "true,2", "false,2", "false,2"]);
  assert.deepEqual(seen.other.map(String), ["true,", "false,"]);
});

test("a group that cannot be written fails its own jobs only", async () => {
  const groups = new GroupWriter(async ([job]) => {
    if (nameOf(job) === "bad") throw new Error("no");
    return { results: [{ value: "ok" }], pushed: [] };
  }, null);
  const results: JobResult[] = [];
  const add = groups.open((reply) => results.push(...reply.results));
  add([probe("bad")]);
  await nextTurn();
  add([probe("good")]);
  await groups.idle();
  assert.deepEqual(results, [{ error: "failed", message: "no" }, { value: "ok" }]);
});

test("a server gets the next group before the callers get the results of the last one, and replies keep their order", async () => {
  const seen: string[] = [];
  const disk = new Disk();
  const write = (jobs: Job[]) => {
    seen.push(`write ${jobs.map(nameOf)}`);
    return disk.write(jobs);
  };
  const groups = new GroupWriter(write, null, { isServer: true });
  const add = groups.open((reply) => seen.push(`reply ${valuesOf(reply)}`));
  add([probe("a")]);
  await nextTurn();
  add([probe("b")]);
  await disk.end();
  add([probe("c")]);
  await disk.end();
  await disk.end();
  assert.deepEqual(seen, ["write a", "write b", "reply a", "write c", "reply b", "reply c"]);
  await groups.idle();
});

test("a group of a server that ends at once replies after the one before", async () => {
  const replies: unknown[] = [];
  const groups = new GroupWriter(
    (jobs) => ({ results: jobs.map((job) => ({ value: nameOf(job) })), pushed: [] }),
    null,
    {
      isServer: true,
    },
  );
  const add = groups.open((reply) => replies.push(...valuesOf(reply)));
  add([["logRequests", []], probe("b"), ["logRequests", []], probe("d")]);
  await groups.idle();
  assert.deepEqual(replies, ["", "b", "", "d"]);
});

/** A client whose replies the test sends. */
function openClient() {
  const sent: string[][] = [];
  const pushes: string[] = [];
  let reply: (values: string[], pushed: PushedRow[]) => void = () => {};
  let end: (reason: string) => void = () => {};
  const client = new WriterClient(
    (receive, ended) => {
      reply = (values, pushed) => {
        receive({ results: values.map((value) => ({ value })), pushed, isFull: false, group: null });
      };
      end = ended;
      return (jobs) => void sent.push(jobs.map(nameOf));
    },
    () => {},
    (pushed) => pushes.push(...pushed.map(([, row]) => `push ${row}`)),
  );
  const replyWith = (pushed: PushedRow[], ...values: string[]) => reply(values, pushed);
  return {
    client,
    sent,
    pushes,
    replyWith,
    reply: (...values: string[]) => reply(values, []),
    end: (reason: string) => end(reason),
  };
}

test("a client sends the jobs of each turn at once, while earlier ones are at the writer", async () => {
  const { client, sent, reply } = openClient();
  const first = [client.ask(probe("a")), client.ask(probe("b"))];
  await nextTurn();
  const second = client.ask(probe("c"));
  await nextTurn();
  assert.deepEqual(sent, [["a", "b"], ["c"]]);
  assert.equal(client.backlog, 3);
  // A group may hold a part of a message, or parts of several.
  reply("A");
  reply("B", "C");
  assert.deepEqual(await Promise.all([...first, second]), ["A", "B", "C"]);
  await client.idle();
  assert.equal(client.backlog, 0);
});

test("results are completed group by group: those that wrote, the push, those on leases, then the next group", async () => {
  const { client, pushes, replyWith } = openClient();
  const said = (value: unknown) => void pushes.push(String(value));
  const lease: Job = ["leasedPairs", "inst_1"];
  const all = [lease, probe("a"), lease, probe("b")].map((job) => client.ask(job, said));
  await nextTurn();
  replyWith([delivery(1)], "lease 1", "a");
  replyWith([delivery(2)], "lease 2");
  replyWith([delivery(3)]);
  replyWith([], "b");
  await Promise.all(all);
  assert.deepEqual(pushes, ["a", "push 1", "lease 1", "push 2", "lease 2", "push 3", "b"]);
});

test("the end of the writer rejects every job, sent or not, and every later one", async () => {
  const { client, end } = openClient();
  const jobs = [client.ask(probe("a"))];
  await nextTurn();
  jobs.push(client.ask(probe("b")));
  end("the thread ended");
  jobs.push(client.ask(probe("c")));
  for (const one of await Promise.allSettled(jobs)) assert.equal(one.status, "rejected");
  await client.idle();
});

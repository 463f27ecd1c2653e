/** All ports share groups, each port gets the results of its own jobs in order, and the client of a port waits for none of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type GroupReply, GroupWriter } from "./group-writer.ts";
import type { Job, JobResult } from "./jobs.ts";
import { WriterClient } from "./writer-client.ts";

const probe = (name: string): Job => ["probe", name];
const nameOf = (job: Job | undefined) => String(job?.[1]);

/** A database that writes a group when the test says so; the result of a job is its name. */
class Disk {
  readonly groups: string[][] = [];
  readonly #writes: (() => void)[] = [];

  write(jobs: Job[]): Promise<JobResult[]> {
    this.groups.push(jobs.map(nameOf));
    const results = jobs.map((job): JobResult => ({ value: nameOf(job) }));
    return new Promise((resolve) => this.#writes.push(() => resolve(results)));
  }

  /** Ends the oldest group, and lets what follows happen. */
  async end(): Promise<void> {
    this.#writes.shift()?.();
    await nextTurn();
    await nextTurn();
  }
}

/** The values of a reply. */
const valuesOf = ({ results }: GroupReply) => results.map((result) => ("value" in result ? result.value : result));

test("jobs of all ports share a group, and each port gets one reply a group", async () => {
  const disk = new Disk();
  const groups = new GroupWriter((jobs) => disk.write(jobs), null);
  const replies: Record<"main" | "other", unknown[]> = { main: [], other: [] };
  const main = groups.open((reply) => replies.main.push(valuesOf(reply)));
  const other = groups.open((reply) => replies.other.push(valuesOf(reply)));
  main([probe("a")]);
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
  const groups = new GroupWriter((jobs) => disk.write(jobs), null, receive);
  const add = groups.open(() => {});
  arrived.push([probe("b")], [probe("c")]);
  add([probe("a")]);
  assert.deepEqual(disk.groups, [["a", "b", "c"]]);
  arrived.push([probe("d")]);
  await disk.end();
  assert.deepEqual(disk.groups, [["a", "b", "c"], ["d"]]);
});

test("a group that cannot be written fails its own jobs only", async () => {
  const groups = new GroupWriter(async ([job]) => {
    if (nameOf(job) === "bad") throw new Error("no");
    return [{ value: "ok" }];
  }, null);
  const results: JobResult[] = [];
  const add = groups.open((reply) => results.push(...reply.results));
  add([probe("bad")]);
  add([probe("good")]);
  await groups.idle();
  assert.deepEqual(results, [{ error: "failed", message: "no" }, { value: "ok" }]);
});

/** A client whose replies the test sends. */
function openClient() {
  const sent: string[][] = [];
  const pushes: string[] = [];
  let reply: (values: string[]) => void = () => {};
  let end: (reason: string) => void = () => {};
  const client = new WriterClient(
    (receive, ended) => {
      reply = (values) => receive({ results: values.map((value) => ({ value })), durationMs: 1 });
      end = ended;
      return (jobs) => void sent.push(jobs.map(nameOf));
    },
    () => {},
    () => pushes.push("push"),
  );
  return { client, sent, pushes, reply: (...values: string[]) => reply(values), end: (reason: string) => end(reason) };
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
  const { client, pushes, reply } = openClient();
  const said = (value: unknown) => void pushes.push(String(value));
  const lease: Job = ["leasedPairs", "inst_1"];
  const all = [lease, probe("a"), lease, probe("b")].map((job) => client.ask(job, said));
  await nextTurn();
  reply("lease 1", "a");
  reply("lease 2");
  reply("b");
  await Promise.all(all);
  assert.deepEqual(pushes, ["a", "push", "lease 1", "push", "lease 2", "b"]);
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

/** Instances of older versions remembered sent messages in their memory: these become notes of send attempts. */

import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { TIMELINE_PACKING } from "../packing.ts";
import { openWriter } from "./connection.ts";
import { migrate } from "./migrate.ts";
import { moveNotes } from "./move-notes.ts";

const MESSAGE = "msg_00000000-0000-7000-8000-000000000001";
const TIMELINE = JSON.stringify([
  { status: "queued", at: 1, channel: "sms" },
  { status: "pending", at: 2, channel: "sms" },
  { status: "pending", at: 3, channel: "sms", reason: "nobody knows" },
  { status: "pending", at: 5, channel: "sms" },
]);

/** The same, as it is stored since. */
const PACKED = JSON.stringify(TIMELINE_PACKING.pack(JSON.parse(TIMELINE)));

/** Inserts a row; columns that need a value get one. */
function insert(database: DatabaseSync, table: string, given: Record<string, string | number>): void {
  const columns = database.prepare(`pragma table_info("${table}")`).all() as {
    name: string;
    type: string;
    notnull: number;
  }[];
  const needed = columns.filter(({ name, notnull }) => notnull === 1 || name in given);
  const names = needed.map(({ name }) => `"${name}"`).join(", ");
  const values = needed.map(({ name, type }) => given[name] ?? (type === "text" ? "" : 0));
  database.prepare(`insert into "${table}" (${names}) values (${needed.map(() => "?").join(", ")})`).run(...values);
}

for (const [form, timeline] of Object.entries({ packed: PACKED, unpacked: TIMELINE })) {
  test(`entries of messages under way become notes, others are dropped, and those of other providers stay: ${form}`, async (t) => {
    const database = openWriter(":memory:");
    t.after(() => database.close());
    await migrate(database);
    for (const [id, provider] of [
      ["inst_1", "twilio"],
      ["inst_2", "bluebubbles"],
    ] as const)
      insert(database, "instances", { id, provider });
    insert(database, "messages", { id: MESSAGE, timeline, provider_message_id: "SM1", instance_id: "inst_1" });
    const remember = (instance_id: string, key: string, value: object | string) =>
      insert(database, "memory", {
        instance_id,
        key,
        value: typeof value === "string" ? value : JSON.stringify(value),
      });
    remember("inst_1", `sent/${MESSAGE}/2`, { sid: "SM1", knownSince: 4 });
    remember("inst_1", `sent/${MESSAGE}/5`, { sid: "SM2", knownSince: 6 });
    remember("inst_1", `sent/${MESSAGE}/6`, { sid: "SM3", knownSince: 7, hasEnded: true });
    remember("inst_1", `sent/${MESSAGE}/7`, "not JSON");
    remember("inst_1", "sent/msg_00000000-0000-7000-8000-000000000002/2", { sid: "SM4", knownSince: 8 });
    remember("inst_1", "inbound/+15550000001", {});
    remember("inst_2", `sent/${MESSAGE}/2`, { sid: "SM5", knownSince: 4 });
    moveNotes(database);
    moveNotes(database);
    const rows = database.prepare("select * from send_attempts order by number").all();
    const common = { instance_id: "inst_1", message_id: MESSAGE, channel: "sms" };
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        {
          ...common,
          reference: "SM1",
          number: 1,
          state: "accepted",
          started_at: 2,
          ended_at: 4,
          note: '{"sid":"SM1","knownSince":4}',
        },
        {
          ...common,
          reference: `attempt:${MESSAGE}/2`,
          number: 2,
          state: "open",
          started_at: 5,
          ended_at: null,
          note: '{"sid":"SM2","knownSince":6}',
        },
      ],
    );
    const left = database.prepare("select instance_id, key from memory order by key").all();
    assert.deepEqual(
      left.map(({ instance_id, key }) => `${instance_id} ${key}`),
      ["inst_1 inbound/+15550000001", `inst_2 sent/${MESSAGE}/2`],
    );
  });
}

test("messages in parts become notes of the attempts that have a row, and of those that have none", async (t) => {
  const database = openWriter(":memory:");
  t.after(() => database.close());
  await migrate(database);
  insert(database, "instances", { id: "inst_1", provider: "smpp" });
  insert(database, "messages", { id: MESSAGE, timeline: TIMELINE, provider_message_id: "7", instance_id: "inst_1" });
  const row = { instance_id: "inst_1", message_id: MESSAGE, channel: "sms" };
  insert(database, "send_attempts", {
    ...row,
    reference: "7",
    number: 2,
    state: "accepted",
    started_at: 5,
    ended_at: 6,
  });
  const parts = [{ id: "7", userReference: 1, state: "open" }];
  for (const [reference, at] of [
    ["tb:1", 2],
    ["7", 5],
  ] as const) {
    const value = JSON.stringify({ messageId: MESSAGE, reference, at, parts, ends: { from: "1", to: "2" } });
    insert(database, "memory", { instance_id: "inst_1", key: `sent/${MESSAGE}/${at}`, value });
  }
  for (const key of ["sent/junk", "held/1", "heard/1"])
    insert(database, "memory", { instance_id: "inst_1", key, value: "{}" });
  moveNotes(database);
  moveNotes(database);
  const rows = database.prepare("select * from send_attempts order by number").all();
  const noteOf = (reference: string) => JSON.stringify({ reference, parts, ends: { from: "1", to: "2" } });
  assert.deepEqual(
    rows.map((one) => ({ ...one })),
    [
      {
        ...row,
        reference: `attempt:${MESSAGE}/1`,
        number: 1,
        state: "open",
        started_at: 2,
        ended_at: null,
        note: noteOf("tb:1"),
      },
      { ...row, reference: "7", number: 2, state: "accepted", started_at: 5, ended_at: 6, note: noteOf("7") },
    ],
  );
  const left = database.prepare("select key from memory order by key").all();
  assert.deepEqual(
    left.map(({ key }) => key),
    ["heard/1", "held/1"],
  );
});

test("a message whose timeline cannot be decoded does not keep the service from starting", async (t) => {
  const value = JSON.stringify({ sid: "SM1", knownSince: 4 });
  for (const timeline of ["not JSON", '["no object"]', "7"]) {
    const database = openWriter(":memory:");
    t.after(() => database.close());
    await migrate(database);
    insert(database, "instances", { id: "inst_1", provider: "twilio" });
    insert(database, "messages", { id: MESSAGE, timeline, instance_id: "inst_1" });
    insert(database, "memory", { instance_id: "inst_1", key: `sent/${MESSAGE}/2`, value });
    moveNotes(database);
    const rows = database.prepare("select reference, note from send_attempts").all();
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ reference: `attempt:${MESSAGE}/0`, note: value }],
    );
  }
});

for (const [form, timeline] of Object.entries({ packed: PACKED, unpacked: TIMELINE })) {
  test(`attempts at a Mac without an outcome, rows that failed and receipts that are due become notes: ${form}`, async (t) => {
    const database = openWriter(":memory:");
    t.after(() => database.close());
    await migrate(database);
    insert(database, "instances", { id: "inst_1", provider: "bluebubbles" });
    const idOf = (number: number) => `msg_00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
    const message = (number: number, given: Record<string, string | number>) =>
      insert(database, "messages", {
        id: idOf(number),
        instance_id: "inst_1",
        channel: "imessage",
        timeline,
        send_attempts: 2,
        ...given,
      });
    const remember = (key: string, value: object | string) =>
      insert(database, "memory", {
        instance_id: "inst_1",
        key,
        value: typeof value === "string" ? value : JSON.stringify(value),
      });
    const entry = { startedAt: 6, to: ["+1"], step: "whole", isOpen: true, textGuid: null, guid: null, error: 0 };
    const attempted = (number: number, value: object) => {
      const common = { ...entry, attempt: 2, ...value };
      remember(`attempt/${idOf(number)}/imessage`, common);
      const { attempt: _, ...note } = common;
      return JSON.stringify(note);
    };
    message(1, { status: "pending" });
    message(2, { status: "pending" });
    message(3, { status: "failed", error_code: "OUTCOME_UNKNOWN" });
    message(4, { status: "failed", error_code: "OUTCOME_UNKNOWN" });
    message(5, { status: "delivered" });
    message(6, { status: "failed", error_code: "REJECTED" });
    message(7, { status: "pending", timeline: "not JSON" });
    const notes = [
      attempted(1, {}),
      attempted(2, { isOpen: false, guid: "G-2" }),
      attempted(3, { textGuid: "G-3", isOpen: false }),
    ];
    attempted(4, { attempt: 1 });
    attempted(5, { isOpen: false, guid: "G-5" });
    attempted(6, { isOpen: false, guid: "G-6", error: 22 });
    const unreadable = attempted(7, {});
    remember(`attempt/${idOf(1)}/sms`, "{");
    remember("attempt/junk", "[]");
    for (const guid of ["G-5", "G-8", "G-none"]) remember(`watch/${guid}`, "imessage 1700000000000");
    remember("catch-up", "{}");
    const common = { instance_id: "inst_1", channel: "imessage" };
    const row = { ...common, message_id: idOf(5), reference: "G-5", number: 2, state: "accepted", started_at: 5 };
    insert(database, "send_attempts", { ...row, ended_at: 7 });
    insert(database, "provider_references", { ...common, reference: "G-8", message_id: idOf(5), created_at: 3 });
    moveNotes(database);
    moveNotes(database);
    const columns = "reference, message_id, number, state, started_at, ended_at, note";
    const rows = database.prepare(`select ${columns} from send_attempts order by message_id, reference`).all();
    const open = { number: 2, state: "open", started_at: 5, ended_at: null };
    const sent = { message_id: idOf(5), number: 2, state: "accepted", note: '{"sentAt":1700000000000}' };
    assert.deepEqual(
      rows.map((one) => ({ ...one })),
      [
        { ...open, reference: `attempt:${idOf(1)}/2`, message_id: idOf(1), note: notes[0] },
        { ...open, reference: `attempt:${idOf(2)}/2`, message_id: idOf(2), note: notes[1] },
        { ...open, reference: `attempt:${idOf(3)}/2`, message_id: idOf(3), state: "unknown", note: notes[2] },
        { ...sent, reference: "G-5", started_at: 5, ended_at: 7 },
        { ...sent, reference: "G-8", started_at: 3, ended_at: 3 },
        { ...open, reference: "G-6", message_id: idOf(6), state: "rejected", ended_at: 6, note: null },
        { ...open, reference: `attempt:${idOf(7)}/0`, message_id: idOf(7), number: 0, started_at: 6, note: unreadable },
      ],
    );
    const left = database.prepare("select key from memory").all();
    assert.deepEqual(
      left.map(({ key }) => key),
      ["catch-up"],
    );
  });
}

test("the present attempt at a Mac is the last one of its message, also if the clock was set back between its attempts", async (t) => {
  const database = openWriter(":memory:");
  t.after(() => database.close());
  await migrate(database);
  insert(database, "instances", { id: "inst_1", provider: "bluebubbles" });
  const timeline = JSON.stringify([
    { status: "pending", at: 9, channel: "imessage" },
    { status: "pending", at: 5, channel: "imessage" },
  ]);
  for (const [number, stored] of [timeline, JSON.stringify(TIMELINE_PACKING.pack(JSON.parse(timeline)))].entries()) {
    const id = `msg_00000000-0000-7000-8000-00000000000${number}`;
    const given = { instance_id: "inst_1", channel: "imessage", status: "pending", send_attempts: 2, timeline: stored };
    insert(database, "messages", { id, ...given });
    const value = JSON.stringify({ attempt: 2, startedAt: 6, isOpen: true });
    insert(database, "memory", { instance_id: "inst_1", key: `attempt/${id}/imessage`, value });
  }
  moveNotes(database);
  const rows = database.prepare("select number, started_at from send_attempts").all();
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      { number: 2, started_at: 5 },
      { number: 2, started_at: 5 },
    ],
  );
});

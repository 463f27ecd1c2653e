/** Files that come later than their message: what waits for them, for how long, and how many are kept. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { message, stage } from "../../../test/support/sandbox-provider.ts";
import { FILE_BYTES_MAX, type InboundAttachment } from "../../core/attachment.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { type ChosenWords, wordMap } from "../../core/opt-out.ts";
import type { Phone, Phones } from "../phones.ts";
import { LateFiles } from "./late-files.ts";

type Said = Parameters<Phones["write"]>[2];

const CUSTOMER = message("0100").customerId;
const OTHER: CustomerId = "cust_00000000-0000-7000-8000-000000000002";
const ADA: Phone = { customerId: CUSTOMER, number: "+15005550120", to: "+15005550006" };
const BEN: Phone = { ...ADA, number: "+15005550121" };

const WORDS: ChosenWords = { stop: wordMap(["Basta"]), resume: wordMap(["Zurück"]) };
const NO_WORDS: ChosenWords = { stop: new Map(), resume: new Map() };

const PNG: InboundAttachment = {
  reference: "file",
  mimeType: "image/png",
  filename: "dot.png",
  totalBytes: 3,
  data: Buffer.from("PNG"),
};

function says(text: string | null, more: Partial<Said> = {}): Said {
  return { text, attachments: [], replyTo: null, channel: "imessage", group: null, ...more };
}

/** A message whose only file comes after `ms`. */
function files(text: string, ms: number, more: Partial<Said> = {}): Said {
  return says(text, { attachments: [PNG], attachmentsAfterMs: ms, ...more });
}

/** A sandbox whose contacts write; `seen` shows each signal with its time, and a file as `+` or, while it is missing, as `-`. */
async function writing() {
  const { clock, sandbox, signals, refusing } = await stage(undefined, {
    optOutWordsAt: async (to) => (to === ADA.to ? WORDS : NO_WORDS),
  });
  const times: number[] = [];
  const push = signals.push.bind(signals);
  signals.push = (...given) => {
    times.push(...given.map(() => clock.real()));
    return push(...given);
  };
  const refusals: unknown[] = [];
  const open = { count: 0 };
  const write = (phone: Phone, said: Said) => {
    open.count += 1;
    const name = `${phone.number} ${said.text}`;
    const written = sandbox.phones.write(phone, name, said);
    void written
      .catch((error) => refusals.push(error))
      .finally(() => {
        open.count -= 1;
      });
  };
  const seen = () =>
    signals.map((signal, index) => {
      assert.ok(signal.kind === "inbound");
      const marks = signal.attachments.map(({ missing, data }) => (missing === true || data === null ? "-" : "+"));
      return `${signal.text}${marks.join("")}@${times[index]}`;
    });
  return { clock, phones: sandbox.phones, sandbox, write, seen, refusals, open, refusing };
}

const ROWS: [title: string, said: [Phone, Said][], seen: string[]][] = [
  ["a message waits for its files", [[ADA, files("a", 3_000)]], ["a+@3000"]],
  ["it waits ten seconds for them", [[ADA, files("a", 10_000)]], ["a+@10000"]],
  ["files after ten seconds come by themselves", [[ADA, files("a", 12_000)]], ["a-@10000", "a+@12000"]],
  ["so do those that come an hour later", [[ADA, files("a", 3_600_000)]], ["a-@10000", "a+@3600000"]],
  [
    "later texts of the conversation wait behind it, those of others do not",
    [
      [ADA, files("a", 3_000)],
      [ADA, says("b")],
      [BEN, says("c")],
      [{ ...ADA, to: "+15005550007" }, says("d")],
    ],
    ["c@0", "d@0", "a+@3000", "b@3000"],
  ],
  [
    "the waits of a conversation run together",
    [
      [ADA, files("a", 12_000)],
      [ADA, files("b", 9_000)],
      [ADA, files("c", 10_000)],
    ],
    ["a-@10000", "b+@10000", "c+@10000", "a+@12000"],
  ],
  [
    "a word that ends or begins messages waits for nothing, as the customer of the number chose it",
    [
      [ADA, files("a", 3_000)],
      [ADA, says("STOP")],
      [ADA, says("basta")],
      [ADA, files("Zurück", 50)],
      [ADA, files("START", 3_000)],
      [{ ...ADA, to: "+15005550007" }, files("basta", 3_000)],
    ],
    ["STOP@0", "basta@0", "Zurück-@0", "Zurück+@50", "a+@3000", "START+@3000", "basta+@3000"],
  ],
  ["without files there is no wait", [[ADA, says("a", { attachmentsAfterMs: 5_000 })]], ["a@0"]],
];

for (const [title, said, expected] of ROWS) {
  test(title, async () => {
    const { clock, write, seen, refusals, open } = await writing();
    for (const [phone, what] of said) write(phone, what);
    await clock.advance(3_600_000);
    assert.deepEqual(seen(), expected);
    assert.deepEqual([refusals, open.count, clock.pending], [[], 0, 0]);
  });
}

test("a stop of the sandbox ends the wait for files, and none comes after it", async () => {
  const { clock, sandbox, write, seen, refusals, open } = await writing();
  write(ADA, files("a", 12_000));
  await clock.advance(11_000);
  write(ADA, files("b", 5_000));
  await clock.advance(1);
  await sandbox.stop();
  await clock.advance(3_600_000);
  assert.deepEqual([seen(), open.count, clock.pending], [["a-@10000"], 0, 0]);
  assert.match(String(refusals), /the sandbox is stopped/);
});

test("a reset drops the files of its customer, and a message that waits for them is refused", async () => {
  const { clock, phones, write, seen, refusals } = await writing();
  write(ADA, files("late", 12_000));
  write({ ...ADA, customerId: OTHER }, files("other", 12_000));
  await clock.advance(11_000);
  write(ADA, files("waits", 5_000));
  await clock.advance(1);
  await phones.reset(CUSTOMER);
  await clock.advance(3_600_000);
  assert.deepEqual(seen(), ["late-@10000", "other-@10000", "other+@12000"]);
  assert.deepEqual(refusals.map(codeOf), ["INVALID_STATUS"]);
});

test("files that could not be reported are reported again, five seconds later", async () => {
  const { clock, write, seen, refusing } = await writing();
  write(ADA, files("a", 12_000));
  await clock.advance(11_000);
  refusing.signals = 2;
  await clock.advance(3_600_000);
  assert.deepEqual(seen(), ["a-@10000", "a+@22000"]);
});

test("files of 100 MiB are kept at the same time; further ones are refused until those have come", async () => {
  const { clock, write, refusals, open } = await writing();
  const data = Buffer.alloc(FILE_BYTES_MAX / 4);
  const late = (name: string) => files(name, 60_000, { attachments: [{ ...PNG, data }] });
  for (const name of ["a", "b", "c", "d"]) write(ADA, late(name));
  await clock.advance(20_000);
  write(BEN, late("one more"));
  write(BEN, says("no late file", { attachments: [PNG] }));
  await clock.advance(0);
  assert.deepEqual(refusals.map(codeOf), ["VALIDATION_ERROR"]);
  assert.match(String(refusals[0]), /attachmentsAfterMs: cannot be more than 0 now/);
  await clock.advance(60_000);
  write(BEN, late("now"));
  await clock.advance(60_000);
  assert.deepEqual([refusals.length, open.count], [1, 0]);
});

test("the files of a thousand messages are kept at the same time", () => {
  const late = new LateFiles(new SimulatedClock());
  const kept = Array.from({ length: 1_000 }, () => late.keep(CUSTOMER, []));
  assert.throws(() => late.keep(CUSTOMER, []), /attachmentsAfterMs: .* the files of 1000 messages have yet to come/);
  for (const _ of [1, 2]) kept[0]?.drop();
  late.keep(CUSTOMER, []);
  assert.throws(() => late.keep(CUSTOMER, []));
});

function codeOf(error: unknown): string {
  return error instanceof ApiError ? error.code : String(error);
}

import assert from "node:assert/strict";
import test from "node:test";
import smpp from "smpp";
import { describeStatus, STATUSES, statusOf } from "./status.ts";

/** The statuses of SMPP 3.4, 5.1.3. npm's list adds those of 5.0. */
const LAST_OF_3_4 = 0xff;
/** npm's list uses the names of 5.0 for some others, too. */
const NAMES_OF_5: Readonly<Record<string, string>> = {
  ESME_RINVTLVSTREAM: "ESME_RINVOPTPARSTREAM",
  ESME_RTLVNOTALLWD: "ESME_ROPTPARNOTALLWD",
  ESME_RINVTLVLEN: "ESME_RINVPARLEN",
  ESME_RMISSINGTLV: "ESME_RMISSINGOPTPARAM",
  ESME_RINVTLVVAL: "ESME_RINVOPTPARAMVAL",
};

test("SMPP 3.4, 5.1.3: every command_status has the same name as in npm's list, and none is missing", () => {
  const theirs = Object.entries(smpp.errors)
    .filter(([, code]) => code <= LAST_OF_3_4)
    .map(([name, code]): [string, number] => [NAMES_OF_5[name] ?? name, code]);
  const ours = STATUSES.map(({ code, name }): [string, number] => [name, code]);
  assert.deepEqual(sorted(ours), sorted(theirs));
});

test("a status is described with its name and code, also an unknown one", () => {
  assert.equal(describeStatus(0x0e), "invalid password (ESME_RINVPASWD 0x0E)");
  assert.equal(describeStatus(0x410), "an error of the SMSC's own: ask the carrier (0x410)");
  assert.equal(describeStatus(0x123), "an error that SMPP 3.4 does not have (0x123)");
});

test("temporary and permanent statuses are told apart, and an unknown one counts as permanent", () => {
  const codesOf = (wanted: string) => STATUSES.filter((status) => status.class === wanted).map(({ code }) => code);
  assert.deepEqual(codesOf("ok"), [0]);
  assert.deepEqual(codesOf("transient"), [0x08, 0x14, 0x64]);
  assert.deepEqual(codesOf("throttled"), [0x58]);
  assert.deepEqual(codesOf("bind"), [0x04, 0x05, 0x0d, 0x0e, 0x0f, 0x53]);
  assert.equal(statusOf(0x410).class, "permanent");
  assert.equal(statusOf(0xffff_ffff).class, "permanent");
});

function sorted(entries: [string, number][]): [string, number][] {
  return entries.sort(([, a], [, b]) => a - b);
}

/** Tests of the name that a process leaves in its data directory: when the next one may end what it held. */

import assert from "node:assert/strict";
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ConfigError, readConfig } from "../config.ts";
import { openMemberPlace } from "./member-place.ts";

const NOW = 1_000;
const skip = existsSync("/proc/sys/kernel/random/boot_id") ? false : "it needs the boot id of Linux";

function newDirectory(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), "tightbeam-place-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

const configOf = (dataDir: string) =>
  readConfig({ TB_DATA_DIR: dataDir, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });

/** Starts a process and ends it without a word. Returns the members whose leases it ended. */
async function live(dataDir: string, id: string): Promise<string[]> {
  const ended: string[] = [];
  const place = openMemberPlace(configOf(dataDir), id);
  await place?.endFormer({ endMember: async (member, now) => void ended.push(`${member} ${now}`) }, NOW);
  place?.close();
  return ended;
}

test("each start ends the member before it in the same directory, and only that one", { skip }, async (t) => {
  const dataDir = newDirectory(t);
  assert.deepEqual(await live(dataDir, "member_1"), []);
  assert.deepEqual(await live(dataDir, "member_2"), ["member_1 1000"]);
  assert.deepEqual(await live(dataDir, "member_3"), ["member_2 1000"]);
});

test("a start that could not end the member before leaves that to the next one", { skip }, async (t) => {
  const dataDir = newDirectory(t);
  await live(dataDir, "member_1");
  const place = openMemberPlace(configOf(dataDir), "member_2");
  const away = new Error("the database went away");
  const endMember = () => Promise.reject(away);
  await assert.rejects(async () => place?.endFormer({ endMember }, NOW), away);
  place?.close();
  assert.deepEqual(await live(dataDir, "member_3"), ["member_1 1000"]);
});

test("a directory is refused while a process has it", (t) => {
  const config = configOf(newDirectory(t));
  const place = openMemberPlace(config, "member_1");
  assert.throws(
    () => openMemberPlace(config, "member_2"),
    (error: Error) => error instanceof ConfigError && /is locked: another Tightbeam runs/.test(error.message),
  );
  place?.close();
  openMemberPlace(config, "member_3")?.close();
});

test("a copy of a directory, a restarted machine and a damaged file prove nothing about the member before", {
  skip,
}, async (t) => {
  const dataDir = newDirectory(t);
  const path = join(dataDir, "member.json");
  await live(dataDir, "member_1");
  const copy = join(newDirectory(t), "copy");
  cpSync(dataDir, copy, { recursive: true });
  assert.deepEqual(await live(copy, "member_2"), []);
  const kept = JSON.parse(readFileSync(path, "utf8")) as { id: string; place: string };
  writeFileSync(path, JSON.stringify({ ...kept, place: kept.place.replace(/^\S+/, "another-start") }));
  assert.deepEqual(await live(dataDir, "member_3"), []);
  writeFileSync(path, '{"id": "mem');
  assert.deepEqual(await live(dataDir, "member_4"), []);
  assert.deepEqual(await live(dataDir, "member_5"), ["member_4 1000"]);
});

test("a read-only directory has no place, and neither has the embedded database", {
  skip: process.getuid?.() === 0 ? "root writes in spite of rights" : false,
}, (t) => {
  const dataDir = newDirectory(t);
  assert.equal(openMemberPlace(readConfig({ TB_DATA_DIR: dataDir }), "member_1"), null);
  chmodSync(dataDir, 0o500);
  assert.equal(openMemberPlace(configOf(dataDir), "member_1"), null);
  chmodSync(dataDir, 0o700);
});

/** Messages that were under way in a database of before have no part on record after the upgrade. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Kysely } from "kysely";
import { findMessage } from "../messages.ts";
import { queryDatabase } from "../sqlite/driver.ts";
import { createReader } from "../sqlite/query.ts";
import { MIGRATIONS } from "./list.ts";

/** Values that columns of enumerations get, so that the rows can be read. */
const FILLERS: Readonly<Record<string, string>> = { direction: "outbound", channel: "sms", message_type: "text" };

test("the migration leaves a queued or pending message unchanged, with no sent part", async () => {
  const database = new DatabaseSync(":memory:");
  const read = createReader(database);
  const db = queryDatabase(async (query) => read(query));
  const migrate = async (names: string[]) => {
    for (const name of names) await MIGRATIONS[name]?.up(db as unknown as Kysely<unknown>);
  };
  const names = Object.keys(MIGRATIONS);
  await migrate(names.filter((name) => name < "0009"));
  const columns = database.prepare("pragma table_info(messages)").all() as {
    name: string;
    type: string;
    notnull: number;
  }[];
  const filler = new Map(columns.map(({ name, type }) => [name, FILLERS[name] ?? (type === "bigint" ? 0 : "[]")]));
  const needed = columns.filter(({ notnull }) => notnull === 1).map(({ name }) => name);
  for (const [id, status] of [
    ["msg_1", "queued"],
    ["msg_2", "pending"],
  ] as const) {
    const values: Record<string, string | number> = { id, status, hand_overs: 1 };
    const named = [...new Set([...needed, ...Object.keys(values)])];
    const places = named.map(() => "?").join(", ");
    const quoted = named.map((name) => `"${name}"`).join(", ");
    database
      .prepare(`insert into messages (${quoted}) values (${places})`)
      .run(...named.map((name) => values[name] ?? filler.get(name) ?? null));
  }
  await migrate(names.filter((name) => name >= "0009"));
  for (const id of ["msg_1", "msg_2"] as const) {
    const message = await findMessage(db, id);
    assert.deepEqual([message?.sentPart, message?.sendAttempts], [null, 1]);
  }
});

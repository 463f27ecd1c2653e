/** Invalid stored settings end the start with one line, and the command in the line repairs them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startTestService } from "../../test/support/service.ts";
import { ConfigError, readConfig } from "../config.ts";
import { deleteRow, listRows, setColumn, showRow } from "./repair-rows.ts";

test("a bad link-key, clock shift, first customer or ready key ends the start with one line that says what to do", async (t) => {
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const config = readConfig({ TB_DATA_DIR: service.dataDir });
  const { first } = await withDatabase(service.dataDir, (database) => ({
    first: String(database.prepare("select value from settings where name = 'first-customer'").get()?.value),
  }));
  const rows: [name: string, value: string, mend: () => Promise<unknown>][] = [
    ["link-key", "v1.nonsense", () => deleteRow(config, { table: "settings", id: "link-key" })],
    ["clock-shift", "soon", () => deleteRow(config, { table: "settings", id: "clock-shift" })],
    ["ready-key", "none", () => deleteRow(config, { table: "settings", id: "ready-key" })],
    [
      "first-customer",
      "cust_none",
      () => setColumn(config, { table: "settings", id: "first-customer" }, "value", first),
    ],
  ];
  for (const [name, value, mend] of rows) {
    const put = "insert into settings values (?, ?) on conflict do update set value = excluded.value";
    const broken = async () => {
      await withDatabase(service.dataDir, (database) => database.prepare(put).run(name, value));
      return {};
    };
    await assert.rejects(service.restart(broken), (error: Error) => {
      assert.ok(error instanceof ConfigError, String(error));
      assert.match(
        error.message,
        new RegExp(`^The setting ${name} [^\\n]+ tightbeam quarantine (delete|set) settings ${name}`),
      );
      return true;
    });
    await mend();
    await service.restart();
  }
});

test("the quarantine lists, shows and repairs a row by its key, and repairs only while no service runs", async (t) => {
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const config = readConfig({ TB_DATA_DIR: service.dataDir });
  const { data } = await service.ask("POST", "/v1/contacts", { body: { phoneNumber: "+15005550100", tags: ["a"] } });
  const name = { table: "contacts", id: data.id };
  await withDatabase(service.dataDir, (database) =>
    database.prepare("update contacts set tags = 'x' where id = ?").run(data.id),
  );
  const { status, error } = await service.ask("GET", `/v1/contacts/${data.id}`);
  assert.deepEqual([status, error?.code], [500, "INTERNAL_ERROR"]);
  assert.match(error?.message ?? "", new RegExp(`The stored record ${data.id} \\(contacts\\) cannot be read`));
  assert.equal(showRow(config, name).reason, "tags is not JSON");
  await assert.rejects(setColumn(config, name, "tags", "[]"), /is locked: another Tightbeam runs/);
  await service.restart(async () => {
    assert.deepEqual(
      listRows(config).map(({ table, id, reason }) => [table, id, reason]),
      [["contacts", data.id, "tags is not JSON"]],
    );
    assert.equal((await setColumn(config, name, "tags", '["b"]')).reason, null);
    return {};
  });
  assert.deepEqual((await service.ask("GET", `/v1/contacts/${data.id}`)).data.tags, ["b"]);
  assert.deepEqual(listRows(config), []);
});

async function withDatabase<Result>(dataDir: string, work: (database: DatabaseSync) => Result): Promise<Result> {
  const database = new DatabaseSync(join(dataDir, "tightbeam.db"));
  try {
    return work(database);
  } finally {
    database.close();
  }
}

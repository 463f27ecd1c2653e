import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { emptyDirectory, runOnTerminal, serverWith } from "../test/support/cli.ts";

test("contacts delete --erase requests the erasure of each contact and shows its progress", async (t) => {
  const { env, requests } = await serverWith(t, {
    "DELETE /v1/contacts/con_1": { data: { id: "con_1", deleted: true, erasedAt: null } },
    "DELETE /v1/contacts/con_2": { data: { id: "con_2", deleted: true, erasedAt: "2031-05-01T09:00:00.000Z" } },
  });
  const { stdout } = await runOnTerminal(["contacts", "delete", "con_1", "con_2", "--erase"], env);
  assert.equal(stdout, "con_1 deleted, being erased\ncon_2 erased 2031-05-01T09:00:00.000Z\n");
  assert.deepEqual(
    requests.map(({ query }) => query),
    [{ erase: "true" }, { erase: "true" }],
  );
});

test("contacts import shows how many contacts it has created, up to 100 %, and then the result", async (t) => {
  const { env } = await serverWith(t, {
    "POST /v1/contacts/bulk": { data: { created: 1, failed: 0, errors: [] } },
  });
  const file = join(emptyDirectory(t), "contacts.json");
  writeFileSync(file, JSON.stringify([{ phoneNumber: "+15005550100" }]));
  const { code, stdout, stderr } = await runOnTerminal(["contacts", "import", file], env);
  assert.deepEqual([code, stdout], [0, "1 created, 0 failed\n"]);
  assert.match(stderr, /creating {2}░+ {4}0 % {2}0 of 1 contacts.*creating {2}█+ {2}100 % {2}1 of 1 contacts/s);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { runOnTerminal, serverWith } from "../test/support/cli.ts";

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

/** `tightbeam quiet-hours`: set, shown and removed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { envFor, runOnTerminal } from "../test/support/cli.ts";
import { startTestService } from "../test/support/service.ts";

test("quiet-hours set, get and remove use the only customer if none is named", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const env = { ...envFor(t, api), TIGHTBEAM_ADMIN_KEY: api.adminKey };
  const shown = async (...line: string[]) => {
    const { code, stdout, stderr } = await runOnTerminal(["quiet-hours", ...line], env);
    assert.deepEqual([code, stderr], [0, ""]);
    return stdout;
  };
  assert.match(await shown("get"), /^No quiet hours/);
  const set = await shown("set", "21:00", "08:00", "--time-zone", "America/New_York");
  assert.match(set, /start +21:00\nend +08:00\ntimeZone +America\/New_York/);
  assert.equal(await shown("get"), set);
  const { customers } = (await api.ask("GET", "/v1/admin/customers", { key: api.adminKey })).data;
  assert.match(await shown("set", "22:00", "06:00", "--customer", customers[0].id), /timeZone +UTC/);
  assert.equal(await shown("remove"), "no quiet hours\n");
  assert.match(await shown("get"), /^No quiet hours/);
  const wrong = await runOnTerminal(["quiet-hours", "set", "9", "08:00"], env);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /start: must be a time of a day/);
});

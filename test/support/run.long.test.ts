/** The server that the files of a run share ends with the run, however that ends. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { makePostgresProject, runIn } from "./run-project.ts";
import { until } from "./wait.ts";

for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
  test(`the server of a run ends with the run that ${signal} ends`, async (t) => {
    // Each of its tests ends when the server does.
    const work = 'writeFileSync(process.env.ROOT + "/begun-" + process.pid, ""); await lost;';
    const { root, env, servers } = makePostgresProject(t, work);
    const { runner, ended } = runIn(root, env);
    const begun = () => readdirSync(root).filter((name) => name.startsWith("begun"));
    await until(() => begun().length === 2, { what: "both tests" });
    assert.equal(servers().length, 1);
    runner.kill(signal);
    await ended;
    await until(() => servers().length === 0, { what: "the end of the server" });
  });
}

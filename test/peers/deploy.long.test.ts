/** The files for servers before linters that are not ours: hadolint, kubernetes-validate and systemd-analyze. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { emptyDirectory } from "../support/cli.ts";
import { spawnCommand } from "../support/process.ts";
import { installPythonPeers } from "./install.ts";

const HERE = join(import.meta.dirname, "deploy");
const ROOT = join(import.meta.dirname, "../..");
const TIMEOUT_MS = 600_000;
/** The oldest and the newest Kubernetes whose schemas the manifests fit. */
const KUBERNETES = ["1.29", "1.37"];
/** The unit's exposure is at most 1.5 of 10, as systemd-analyze counts. It takes tenths. */
const EXPOSURE_TENTHS_MAX = "15";

test("hadolint and kubernetes-validate find nothing wrong with the Dockerfile and the manifests", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const python = installPythonPeers(HERE);
  if (python === null) return t.skip("python3 with venv is not installed");
  const validate = ["--strict", join(ROOT, "deploy/kubernetes.yaml")];
  const commands = [
    [join(python, "hadolint"), join(ROOT, "Dockerfile")],
    ...KUBERNETES.map((version) => [join(python, "kubernetes-validate"), "-k", version, ...validate]),
  ];
  for (const command of commands) {
    const { exited, output } = spawnCommand(t, command, { PATH: process.env.PATH ?? "" });
    const { code } = await exited;
    assert.equal(code, 0, command.join(" ") + output.stdout + output.stderr);
  }
});

test("systemd-analyze accepts the unit, and counts little that it may still do", async (t) => {
  if (spawnSync("systemd-analyze", ["--version"]).status !== 0) return t.skip("systemd-analyze is not installed");
  // It asks whether the command exists, and this machine has no installation.
  const unit = join(emptyDirectory(t), "tightbeam.service");
  writeFileSync(
    unit,
    readFileSync(join(ROOT, "deploy/tightbeam.service"), "utf8").replace(/^ExecStart=.*$/m, "ExecStart=/bin/true"),
  );
  const security = ["security", "--offline=true", `--threshold=${EXPOSURE_TENTHS_MAX}`, "--no-pager", unit];
  for (const args of [["verify", unit], security]) {
    const { exited, output } = spawnCommand(t, ["systemd-analyze", ...args], { PATH: process.env.PATH ?? "" });
    const { code } = await exited;
    assert.equal(code, 0, output.stdout + output.stderr);
    assert.equal(output.stderr.includes("tightbeam"), false, output.stderr);
  }
});

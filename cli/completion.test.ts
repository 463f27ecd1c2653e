import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { EVENT_TYPES, MESSAGE_STATUSES } from "../sdk/wire.ts";
import { emptyDirectory, runCli } from "../test/support/cli.ts";

async function scriptFor(t: TestContext, shell: string): Promise<string> {
  const { code, stdout, stderr } = await runCli(["completion", shell]);
  assert.deepEqual([code, stderr], [0, ""]);
  const path = join(emptyDirectory(t), `tightbeam.${shell}`);
  writeFileSync(path, stdout);
  return path;
}

/** The output of a shell that runs `source`. */
function output(shell: string, source: string): string {
  const { status, stdout, stderr } = spawnSync(shell, ["-c", source], { encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""], source);
  return stdout;
}

const isInstalled = (shell: string) =>
  ["/bin", "/usr/bin", "/usr/local/bin"].some((bin) => existsSync(join(bin, shell)));

test("the script for bash completes commands, options and their values at every place", async (t) => {
  const script = await scriptFor(t, "bash");
  const completed = (...words: string[]) => {
    const line = words.map((word) => `'${word}'`).join(" ");
    const ask = `COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _tightbeam; echo "\${COMPREPLY[*]}"`;
    return output("bash", `source ${script}; ${ask}`).trim();
  };
  assert.equal(completed("tightbeam", "me"), "messages");
  assert.equal(completed("tightbeam", "sandbox", ""), "phone clock wait reset");
  assert.equal(completed("tightbeam", "sandbox", "clock", ""), "advance reset");
  assert.equal(completed("tightbeam", "messages", "list", "--stat"), "--status");
  assert.equal(completed("tightbeam", "messages", "list", "--status", ""), MESSAGE_STATUSES.join(" "));
  assert.equal(completed("tightbeam", "--key", "messages", "trigger", ""), EVENT_TYPES.join(" "));
  assert.equal(completed("tightbeam", "sandbox", "phone", "+15005550199", "r"), "react ring");
  assert.equal(completed("tightbeam", "serve", "--tb-data"), "--tb-data-dir");
  assert.equal(completed("tightbeam", "messages", "get", "msg_1", ""), "");
  assert.match(output("bash", `source ${script}; complete -p tightbeam`), /-F _tightbeam tightbeam/);
});

const elsewhere = [
  ["zsh", ["-n"]],
  ["fish", ["--no-config", "-n"]],
] as const;

for (const [shell, args] of elsewhere) {
  const skip = isInstalled(shell) ? false : `${shell} is not installed here`;
  test(`the script for ${shell} is one that it can read`, { skip }, async (t) => {
    const { status, stderr } = spawnSync(shell, [...args, await scriptFor(t, shell)], { encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""]);
  });
}

test("the script for fish completes commands and values of options", {
  skip: isInstalled("fish") ? false : "fish is not installed here",
}, async (t) => {
  const script = await scriptFor(t, "fish");
  const completed = (line: string) => output("fish", `source ${script}; complete -C '${line}'`).split(/\s/)[0];
  assert.equal(completed("tightbeam sandbox phone +15005550199 rea"), "react");
  assert.equal(completed("tightbeam messages list --status sche"), "scheduled");
});

test("every script names every command, and no option takes a value in one command and none in another", async (t) => {
  const [bash, zsh, fish] = await Promise.all(["bash", "zsh", "fish"].map((shell) => runCli(["completion", shell])));
  for (const result of [bash, zsh, fish]) {
    for (const path of [" listen", "webhooks rotate-secret", "sandbox clock advance", " change-secret-key"]) {
      assert.ok(result?.stdout.includes(`'${path}'`), path);
    }
  }
  const valued = /^ {6}(--.*)\) option=/m.exec(bash?.stdout ?? "")?.[1]?.split(" | ") ?? [];
  assert.ok(valued.includes("--forward-to"));
  for (const flag of ["--all", "--json", "--yes", "--video", "--list", "--print-secret", "--help"]) {
    assert.ok(!valued.includes(flag), flag);
  }
  t.diagnostic(`${valued.length} options take a value`);
});

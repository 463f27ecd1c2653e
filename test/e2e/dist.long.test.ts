/** The directory that `npm run dist` writes, used as the image and the unit use it: without sources and modules, as another user, on a root that cannot be written. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { emptyDirectory } from "../support/cli.ts";
import { KEY, spawnCommand, startProcess } from "../support/process.ts";
import { until } from "../support/wait.ts";

const DIST = join(import.meta.dirname, "../../cli/dist.ts");
const PACK = join(import.meta.dirname, "../../cli/pack.ts");
const UNDER_CLOSED_UMASK = ["sh", "-c", 'umask 077 && exec "$0" "$@"'];
/** The user of the image. */
const USER = 10_001;
/** Makes every directory read-only but the one named first, drops all rights, and becomes the command that follows. */
const CONFINE = `mount --bind "$0" "$0" && mount -o remount,bind,ro / &&
  { ! mountpoint -q /tmp || mount -o remount,bind,ro /tmp; } &&
  exec setpriv --reuid ${USER} --regid ${USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`;

/** A directory that every user may enter. */
function openDirectory(t: TestContext): string {
  const directory = realpathSync(emptyDirectory(t));
  chmodSync(directory, 0o755);
  return directory;
}

/** The command of a fresh directory of \`npm run dist\`, which a user made whose files nobody else may read. */
async function makeDist(t: TestContext): Promise<string> {
  const parent = openDirectory(t);
  const made = spawnCommand(t, [...UNDER_CLOSED_UMASK, process.execPath, DIST, join(parent, "opt/tightbeam")]);
  assert.equal((await made.exited).code, 0, made.output.stderr);
  return join(parent, "opt/tightbeam/bin/tightbeam");
}

/** The paths below a directory that some user cannot read, or cannot enter. */
function closedIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => {
      const needed = entry.isDirectory() ? 0o555 : 0o444;
      return (statSync(join(entry.parentPath, entry.name)).mode & needed) !== needed;
    })
    .map(({ parentPath, name }) => join(parentPath, name));
}

test("the directory of npm run dist serves on a read-only root without any rights, and stops on SIGTERM", async (t) => {
  if (process.getuid?.() !== 0) return t.skip("another user and a read-only root take root");
  const command = await makeDist(t);
  const dataDir = join(command, "../../../../data");
  mkdirSync(dataDir, { mode: 0o700 });
  chownSync(dataDir, USER, USER);
  const confined = ["unshare", "--mount", "sh", "-c", CONFINE, dataDir];
  const service = await startProcess(t, { dataDir, behind: confined, program: [command, "serve"] });
  const { status, data } = await service.ask("POST", "/v1/messages", { to: "+15005550102", content: { text: "Hi" } });
  assert.equal(status, 202);
  const sent = async () => (await service.ask("GET", `/v1/messages/${data.id}`)).data;
  await until(async () => (await sent()).status === "delivered", { what: "the delivery" });
  for (const name of readdirSync(dataDir)) {
    const { uid, mode } = statSync(join(dataDir, name));
    assert.deepEqual([name, uid, mode & 0o077], [name, USER, 0]);
  }

  const page = await fetch(service.url);
  assert.equal(page.status, 200);
  const [script] = /\/assets\/[\w./-]+\.js/.exec(await page.text()) ?? [""];
  assert.equal((await fetch(service.url + script)).status, 200, script);
  const backup = [...confined, command, "backup", "--to", join(dataDir, "backup")];
  const { exited, output } = spawnCommand(t, backup, { PATH: process.env.PATH ?? "", TB_DATA_DIR: dataDir });
  assert.equal((await exited).code, 0, output.stderr);
  assert.ok(!service.output.stdout.includes('"exposed"'), service.output.stdout);
  assert.deepEqual(await service.end("SIGTERM"), { code: 0, signal: null });
});

test("the directory of npm run dist draws tables without node_modules, and is not overwritten", async (t) => {
  const command = await makeDist(t);
  const dataDir = join(emptyDirectory(t), "data");
  const service = await startProcess(t, { dataDir, program: [command, "serve"] });
  const created = await service.ask("POST", "/v1/contacts", { firstName: "日本", phoneNumber: "+15005550100" });
  assert.equal(created.status, 201);
  const environment = { PATH: process.env.PATH ?? "", TB_DATA_DIR: dataDir, TIGHTBEAM_API_KEY: KEY, TERM: "xterm" };
  const drawn = spawnCommand(t, ["script", "-qec", `${command} contacts list`, "/dev/null"], environment);
  assert.equal((await drawn.exited).code, 0, drawn.output.stdout);
  assert.match(drawn.output.stdout, /日本/);
  const again = spawnCommand(t, [process.execPath, DIST, join(command, "../..")]);
  assert.equal((await again.exited).code, 1);
  assert.match(again.output.stderr, /does not exist yet/);
});

test("every user may read what npm run dist and npm run pack write under umask 077", async (t) => {
  const command = await makeDist(t);
  const packages = openDirectory(t);
  const packed = spawnCommand(t, [...UNDER_CLOSED_UMASK, process.execPath, PACK, join(packages, "out")], {
    PATH: process.env.PATH ?? "",
  });
  assert.equal((await packed.exited).code, 0, packed.output.stderr);
  for (const tarball of packed.output.stdout.trim().split("\n"))
    assert.equal(
      spawnSync("tar", ["-xzf", tarball, "--no-same-owner", "-p", "-C", packages, "--one-top-level"]).status,
      0,
    );
  assert.deepEqual([...closedIn(join(command, "../../..")), ...closedIn(packages)], []);
});

/** PgBouncer from the system's packages, in transaction mode, in front of a PostgreSQL server of a test. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { accepting, NOBODY, type PostgresServer } from "./postgres.ts";

/** A running PgBouncer. */
export interface PgBouncer {
  /** The URL of the same database through PgBouncer. */
  through(url: string): string;
  stop(): Promise<void>;
}

/** Value of `skip`: why PgBouncer cannot be tested here, or false. */
export const WITHOUT_PGBOUNCER =
  spawnSync("pgbouncer", ["--version"]).status === 0 ? false : "pgbouncer is not installed";

/** Starts PgBouncer in front of a server. Fewer connections to the server than clients show what a client leaves in one. */
export async function startPgBouncer(server: PostgresServer): Promise<PgBouncer> {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-pgbouncer-"));
  const isRoot = process.getuid?.() === 0;
  const port = await freePort();
  const { hostname, port: serverPort, username } = new URL(server.urlOf("postgres"));
  writeFileSync(join(directory, "users.txt"), `"${username}" ""\n`);
  const config = join(directory, "pgbouncer.ini");
  writeFileSync(
    config,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(directory, "users.txt")}
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
`,
  );
  chmodSync(directory, 0o755);
  if (isRoot) chownSync(directory, NOBODY.uid, NOBODY.gid);
  const child = spawn("pgbouncer", [config], { ...(isRoot ? NOBODY : {}), stdio: "ignore" });
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  const through = (url: string) => {
    const changed = new URL(url);
    changed.host = `127.0.0.1:${port}`;
    return changed.href;
  };
  await accepting(through(server.urlOf("postgres")));
  return {
    through,
    async stop() {
      process.off("exit", kill);
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Runs the service as a process: starts it, prints its address, and stops it on a signal. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Config, ConfigError } from "../config.ts";
import { createLog } from "../log.ts";
import { buildConsole } from "./build-console.ts";
import { greetingOf } from "./greeting.ts";
import { type Service, startService } from "./service.ts";

/** A longer stop is cut off, in milliseconds. */
export const STOP_MS_MAX = 29_500;

/** Log levels at which the log itself says where the service listens. */
const LEVELS_WITH_START: readonly Config["logLevel"][] = ["info", "debug", "trace"];

/** The package that runs. */
interface OwnPackage {
  version: string;
  /** Its directory. */
  root: string;
  /** Gives the tarball of the client of this version. */
  readClient: () => Promise<Buffer>;
  /** Offers the console to the person at the terminal, with links that are made when they are needed. Returns the line that says how. */
  offerConsole: (newLink: () => Promise<string | null>) => string | null;
}

/** Starts the service and keeps it until SIGTERM or SIGINT. Throws `ConfigError` when it cannot start. */
export async function serve(config: Config, own: OwnPackage): Promise<void> {
  const { version, root, readClient } = own;
  // Only this user may read the database, keys and credentials.
  process.umask(0o077);
  const log = createLog(config.logLevel);
  const starting = startService(config, { version, lost: die, log, root, readClient });
  const isStopping = stopOnSignal(starting);
  const service = await starting;
  if (isStopping()) return;
  const built = config.role === "worker" ? Promise.resolve() : buildConsole(root, log);
  // Packed now, so that the first request for it need not wait. If that fails, the request reports the reason.
  if (config.role !== "worker") void built.then(readClient).catch(() => {});
  await greet(service, config, own, built, isStopping);
}

/** Ends the process in good order on SIGTERM or SIGINT, even during the start. Returns a function that says whether it is ending. */
function stopOnSignal(starting: Promise<Service>): () => boolean {
  let isStopping = false;
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
    const service = await starting;
    await service.stop();
    process.exit(0);
  };
  // The caller of `serve` reports a start that fails.
  const stopOrDie = () =>
    void stop().catch((error) =>
      error instanceof ConfigError ? null : die(`the service did not stop in good order (${error})`),
    );
  process.on("SIGTERM", stopOrDie);
  process.on("SIGINT", stopOrDie);
  return () => isStopping;
}

/** Prints a greeting to a terminal; otherwise the address, unless the log contains it. */
async function greet(
  service: Service,
  config: Config,
  { root, offerConsole }: OwnPackage,
  built: Promise<void>,
  isStopping: () => boolean,
): Promise<void> {
  const terminal = [process.stdout, process.stderr].find(({ isTTY }) => isTTY);
  if (terminal !== undefined) {
    // The console is there when somebody opens the link.
    await built;
    // Only a terminal: whoever reads a log could use the link.
    const link = isStopping() ? null : await service.link();
    if (isStopping()) return;
    terminal.write(
      greetingOf({
        url: service.url,
        dataDir: config.dataDir,
        // In the repository npm finds the command; a package that was installed has it on the PATH.
        command: existsSync(join(root, "cli/main.ts")) ? "npx tightbeam" : "tightbeam",
        environment: environmentOf(config.dataDir),
        link,
        offer: link === null ? null : offerConsole(service.link),
        generated: service.started.generated,
      }),
    );
  } else if (!LEVELS_WITH_START.includes(config.logLevel)) process.stderr.write(`listening on ${service.url}\n`);
}

/** Ends the process: acknowledged requests are on disk, and others were not acknowledged. */
function die(reason: string): never {
  process.stderr.write(`error: ${reason}\n`);
  process.exit(1);
}

/** Environment that a command needs to find the keys: it looks for them in `TB_DATA_DIR`, or in `./data`. */
function environmentOf(dataDir: string): string | null {
  if (resolve(dataDir) === resolve("data")) return null;
  return `TB_DATA_DIR=${/^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`}`;
}

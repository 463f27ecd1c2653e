/** Runs work of the server on its data directory; the server's code is loaded only then. */

import type { Config } from "../server/config.ts";
import type { Cli } from "./cli.ts";
import { Failure } from "./failure.ts";

/** Calls `work` with the settings of the directory. An invalid setting ends the command with one line. */
export async function onDataDirectory<Result>(
  cli: Cli,
  path: string | undefined,
  work: (config: Config) => Promise<Result>,
): Promise<Result> {
  const { ConfigError, readConfig } = await import("../server/config.ts");
  const flags: Record<string, string> = path === undefined ? {} : { "--tb-data-dir": path };
  try {
    return await work(readConfig(cli.terminal.env, flags));
  } catch (error) {
    throw error instanceof ConfigError ? new Failure(null, error.message) : error;
  }
}

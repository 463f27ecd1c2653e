/** Makes the data directory. */

import { mkdirSync } from "node:fs";
import { type Config, ConfigError } from "../config.ts";

/** Makes the directory unless it is there. Throws `ConfigError` with one line if it cannot be made. */
export function makeDataDir(config: Config): void {
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new ConfigError(`The data directory ${config.dataDir} cannot be made: ${(error as Error).message}.`);
  }
}

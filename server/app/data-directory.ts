/** Makes the data directory. */

import { type Config, ConfigError } from "../config.ts";
import { makePrivateDirectory } from "../private-file.ts";

/** Makes the directory unless it is there. Throws `ConfigError` with one line if it cannot be made. */
export function makeDataDir(config: Config): void {
  try {
    makePrivateDirectory(config.dataDir);
  } catch (error) {
    throw new ConfigError(`The data directory ${config.dataDir} cannot be made: ${(error as Error).message}.`);
  }
}

/** `tightbeam change-secret-key`: seals the secrets of a data directory with another key, while no service runs on it. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { type Cli, examples } from "./command.ts";
import { Failure } from "./failure.ts";

/** Adds `change-secret-key`. The server's code is loaded only when it runs. */
export function addSecretKey(program: Command, cli: Cli): void {
  program
    .command("change-secret-key")
    .description("Seal all stored secrets with another key. Stop the service first.")
    .option("--tb-data-dir <path>", "the data directory (TB_DATA_DIR, default: ./data)")
    .option(
      "--new-key-file <path>",
      "a file with the new key, as 64 hexadecimal digits or as base64; left out, one is made",
    )
    .addHelpText(
      "after",
      examples({
        "tightbeam change-secret-key": "make a new key, and keep it as secret.key in the data directory",
        "TB_SECRET_KEY=$OLD tightbeam change-secret-key --new-key-file new.key": "when the key is given as a setting",
      }),
    )
    .action(async (options: { tbDataDir?: string; newKeyFile?: string }) => {
      const { ConfigError, readConfig } = await import("../server/config.ts");
      const { changeSecretKey } = await import("../server/app/reseal.ts");
      try {
        const flags: Record<string, string> =
          options.tbDataDir === undefined ? {} : { "--tb-data-dir": options.tbDataDir };
        const config = readConfig(cli.terminal.env, flags);
        const newKey = options.newKeyFile === undefined ? null : read(options.newKeyFile);
        const { secrets, keptInFile } = await changeSecretKey(config, newKey);
        const where = keptInFile
          ? `The new key is in ${config.dataDir}/secret.key; if TB_SECRET_KEY was set, leave it out from now on.`
          : "Start with TB_SECRET_KEY set to the new key from now on.";
        cli.output().show({ secrets, keptInFile }, () => `${secrets} secrets are sealed with the new key. ${where}`);
      } catch (error) {
        throw error instanceof ConfigError ? new Failure(null, error.message) : error;
      }
    });
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new Failure(null, `The file ${path} cannot be read: ${(error as Error).message}.`);
  }
}

/** `tightbeam change-secret-key`: seals the secrets of a data directory with another key, while no service runs on it. */

import { readFileSync } from "node:fs";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { onDataDirectory } from "./data-directory.ts";
import { Failure } from "./failure.ts";
import { Progress } from "./progress.ts";

interface SecretKeyOptions {
  tbDataDir?: string;
  newKeyFile?: string;
}

/** Seals all secrets with another key. The server's code is loaded only when it runs. */
export const changeSecretKey: CommandRow = {
  name: "change-secret-key",
  help: "Seal all stored secrets with another key. Stop the service first.",
  options: {
    "--tb-data-dir <path>": "the data directory (TB_DATA_DIR, default: ./data)",
    "--new-key-file <path>":
      "a file with the new key, as 64 hexadecimal digits or as base64 (default: a new random key)",
  },
  examples: {
    "tightbeam change-secret-key": "make a new key, and keep it as secret.key in the data directory",
    "TB_SECRET_KEY=$OLD tightbeam change-secret-key --new-key-file new.key": "if the key is given as a setting",
  },
  run: change,
};

async function change(cli: Cli, { tbDataDir, newKeyFile }: SecretKeyOptions): Promise<void> {
  const progress = new Progress(cli.terminal, { interrupted: "Interrupted: nothing was changed." });
  await onDataDirectory(cli, tbDataDir, async (config) => {
    const { changeSecretKey: reseal } = await import("../server/app/reseal.ts");
    const newKey = newKeyFile === undefined ? null : read(newKeyFile);
    const showSecrets = (done: number, total: number) => progress.show("sealing", done, total, "secrets");
    const { secrets, keptInFile } = await progress.during(() => reseal(config, newKey, showSecrets));
    const where = keptInFile
      ? `The new key is in ${config.dataDir}/secret.key; if TB_SECRET_KEY was set, leave it out from now on.`
      : "Start with TB_SECRET_KEY set to the new key from now on.";
    cli.output().show({ secrets, keptInFile }, () => `${secrets} secrets are sealed with the new key. ${where}`);
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new Failure(null, `The file ${path} cannot be read: ${(error as Error).message}.`);
  }
}

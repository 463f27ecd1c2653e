/** `tightbeam serve`: runs the service. Its code is loaded only when it runs. */

import { Option } from "commander";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { Failure } from "./failure.ts";

/** `serve` without its options: enough for the list of commands, without loading the server. */
export const serve: CommandRow = {
  name: "serve",
  help: "Run the service; by default on http://127.0.0.1:8080, with its data in ./data.",
  examples: {
    "tightbeam serve": "the sandbox: no account, no Mac, no carrier",
    "tightbeam serve --port 0": "any free port; it is printed",
    "PORT=9000 TB_DATA_DIR=/var/lib/tightbeam tightbeam serve": "settings from the environment",
  },
  notes:
    "Every setting is a flag or an environment variable (in brackets); the flag wins. SIGTERM stops the service gracefully.",
  run: start,
};

/** `serve` with an option for every setting. */
export async function serveWithSettings(): Promise<CommandRow> {
  const { SETTINGS } = await import("../server/config.ts");
  const options = SETTINGS.map(({ flag, name, description, default: fallback }) => {
    const more = fallback === null ? name : `${name}, default: ${fallback}`;
    return [`${flag} <value>`, `${description.replaceAll("`", "")} (${more})`] as const;
  });
  return { ...serve, options: Object.fromEntries(options) };
}

async function start(cli: Cli, given: Record<string, string>): Promise<void> {
  const { ConfigError, readConfig, SETTINGS } = await import("../server/config.ts");
  const flags: Record<string, string> = {};
  for (const { flag } of SETTINGS) {
    const value = given[new Option(flag).attributeName()];
    if (value !== undefined) flags[flag] = value;
  }
  try {
    const config = readConfig(cli.terminal.env, flags);
    for (const warning of config.warnings) cli.output().note(`warning: ${warning}`);
    const { serve: run } = await import("../server/app/serve.ts");
    await run(config, cli.version);
  } catch (error) {
    throw error instanceof ConfigError ? new Failure(null, error.message) : error;
  }
}

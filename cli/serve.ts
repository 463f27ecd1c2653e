/** `tightbeam serve`: the service itself. Its code is loaded only when it is to run. */

import { type Command, Option } from "commander";
import type { Cli } from "./command.ts";
import { examples } from "./command.ts";
import { Failure } from "./failure.ts";

/** Adds `serve`, with a flag for every setting. */
export async function addServe(program: Command, cli: Cli): Promise<void> {
  const { ConfigError, readConfig, SETTINGS } = await import("../server/config.ts");
  const command = describeServe(program).action(async (given: Record<string, string>) => {
    const flags: Record<string, string> = {};
    for (const { flag } of SETTINGS) {
      const value = given[new Option(flag).attributeName()];
      if (value !== undefined) flags[flag] = value;
    }
    try {
      const config = readConfig(cli.terminal.env, flags);
      for (const warning of config.warnings) cli.output().note(`warning: ${warning}`);
      const { serve } = await import("../server/app/serve.ts");
      await serve(config, program.version() ?? "");
    } catch (error) {
      throw error instanceof ConfigError ? new Failure(null, error.message) : error;
    }
  });
  for (const { flag, name, description, default: fallback } of SETTINGS) {
    const more = fallback === null ? name : `${name}, default: ${fallback}`;
    command.option(`${flag} <value>`, `${description.replaceAll("`", "")} (${more})`);
  }
}

/** Adds `serve` by name only: enough for the list of commands, without loading the server. */
export function describeServe(program: Command): Command {
  return program
    .command("serve")
    .description("Run the service: on http://127.0.0.1:8080, with its data in ./data, when nothing else is said.")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam serve": "the sandbox: no account, no Mac, no carrier",
        "tightbeam serve --port 0": "any free port; it is printed",
        "PORT=9000 TB_DATA_DIR=/var/lib/tightbeam tightbeam serve": "settings from the environment",
      })}\n\nEvery setting is a flag or an environment variable (in brackets); the flag wins. SIGTERM ends it in good order.`,
    );
}

/** `tightbeam serve`: runs the service. Its code is loaded only when it runs. */

import { Option } from "commander";
import { browserAbsence, openInBrowser } from "./browser.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { Failure } from "./failure.ts";
import { watchKeys } from "./key-presses.ts";

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
    "Every setting is a flag or an environment variable (in brackets); the flag wins. SIGTERM stops the service gracefully. On a terminal the key o opens the console.",
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
    const { readClient } = await import("./read-client.ts");
    const { root } = cli.terminal;
    cli.terminal.outliveOutput();
    await run(config, {
      version: cli.version,
      root,
      readClient: () => readClient(root),
      offerConsole: (newLink) => offerConsole(cli, newLink),
    });
  } catch (error) {
    throw error instanceof ConfigError ? new Failure(null, error.message) : error;
  }
}

/** Opens the console when the person at the terminal presses o. Returns the line that says so, or why not. */
function offerConsole(cli: Cli, newLink: () => Promise<string | null>): string | null {
  if (cli.terminal.ask === null) return null;
  const absence = browserAbsence(cli.terminal.env);
  if (absence !== null) return `${absence}: open the link yourself.`;
  const open = async () => {
    // A new one each time: the printed link may have been used.
    const link = await newLink();
    const reason = link === null ? "There is no link any more" : await openInBrowser(link);
    if (reason !== null) cli.output().note(`${reason}: tightbeam open --print prints a link.`);
  };
  const isWatched = watchKeys((key) => {
    if (key === "o" || key === "O") void open().catch((error: Error) => cli.output().note(`error: ${error.message}`));
  });
  return isWatched ? "Press o to open it." : null;
}

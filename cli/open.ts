/** `tightbeam open`: prints a one-time link to the console, and opens it in a browser if a person is at the terminal. */

import type { SessionLink } from "../sdk/wire.ts";
import { pagePath } from "./addresses.ts";
import { browserAbsence, openInBrowser } from "./browser.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { NoKeyError, UsageError } from "./failure.ts";

/** Opens the console. */
export const open: CommandRow = {
  name: "open",
  help: "Open the console in a browser, signed in by a one-time link; at a record if one is named.",
  arguments: {
    "[id]":
      "a message, event, delivery, request or endpoint (msg_…, evt_…, dlv_…, req_…, wh_…), or a phone of the sandbox (+1…)",
  },
  options: { "--print": "only print the link" },
  examples: {
    "tightbeam open": "with the admin key if there is one, else with the customer's",
    "tightbeam open msg_…": "the page of a message",
    "tightbeam open --print": "for a browser on another machine",
  },
  notes:
    "The link works once, within five minutes, and signs in whoever opens it first. While a browser starts, other users of this machine may see it in the list of processes: on a shared machine use --print.",
  run: openConsole,
};

async function openConsole(cli: Cli, id: string | undefined, { print }: { print?: boolean }): Promise<void> {
  const path = id === undefined ? "/" : pathOf(id);
  const { url, expiresAt } = await clientOf(cli).request<SessionLink>("POST", "/session/links");
  const link = withPath(url, path);
  const output = cli.output();
  output.show({ url: link, expiresAt }, () => link);
  if (print === true || output.json || cli.terminal.stdout.isTTY !== true) return;
  const absence = browserAbsence(cli.terminal.env) ?? (await openInBrowser(link));
  if (absence !== null) output.note(`${absence}: open the link yourself.`);
}

/** The page of a record. Throws `UsageError` for an id of another kind. */
function pathOf(id: string): string {
  const path = pagePath(id);
  if (path !== null) return path;
  throw new UsageError(
    `${id} has no page: give an id that begins with msg_, evt_, dlv_, req_ or wh_, or a number with +.`,
  );
}

/** The link to a page: its token stays behind the #, which no server sees. */
export function withPath(link: string, path: string): string {
  const [address = "", token = ""] = link.split("/#");
  return `${address}${path}#${token}`;
}

/** A client with the admin key, which sees everything, else with the customer's. */
function clientOf(cli: Cli) {
  try {
    return cli.client("admin");
  } catch (error) {
    if (!(error instanceof NoKeyError)) throw error;
    return cli.client("messages");
  }
}

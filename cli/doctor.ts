/** `tightbeam doctor`: checks everything between here and your receivers, and advises what to do. */

import { printableLine } from "../server/core/printable.ts";
import type { CheckResult, State } from "./check-result.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";
import type { Paint } from "./output.ts";
import { wrapped } from "./table.ts";

/** Checks everything between here and the receivers. The checks are loaded only when it runs. */
export const doctor: CommandRow = {
  name: "doctor",
  help: "Check server, key, clock, channels, webhooks and their deliveries, and advise what to do.",
  examples: {
    "tightbeam doctor": "a line for each check: ✔ well, ! worth a look, ✖ broken",
    "tightbeam doctor | jq '.[] | select(.state != \"ok\")'": "only what is not well",
  },
  notes: `With an admin key (TIGHTBEAM_ADMIN_KEY, or credentials.json) it also checks instances and names the key's customer.
With DATABASE_URL it also compares the queues of that database with their records, which takes up to 20 s.
Exit codes: 0 nothing is broken; 1 something is.`,
  run: examine,
};

async function examine(cli: Cli): Promise<void> {
  const { examineAll } = await import("./checks.ts");
  const given = (kind: "messages" | "admin") => {
    try {
      return cli.connection(kind);
    } catch (error) {
      // A missing key is one of the results.
      if (error instanceof UsageError) return null;
      throw error;
    }
  };
  const results = await examineAll({
    server: cli.server(),
    messages: given("messages"),
    admin: given("admin"),
    version: cli.version,
    databaseUrl: cli.terminal.env.DATABASE_URL || null,
  });
  cli.output().show(results, (all, paint, width) => all.map((result) => lineOf(result, paint, width)).join("\n"));
  const broken = results.filter(({ state }) => state === "broken");
  if (broken.length > 0) {
    const checks = new Set(broken.map(({ check }) => check));
    throw new Failure(null, `${[...checks].join(", ")}: see what to do above.`);
  }
}

const MARKS: Readonly<Record<State, { mark: string; style: Parameters<Paint>[0] }>> = {
  ok: { mark: "✔", style: "green" },
  warning: { mark: "!", style: "yellow" },
  broken: { mark: "✖", style: "red" },
};

const CHECK_WIDTH = 14;
/** Columns before a result. */
const LEAD = CHECK_WIDTH + 4;

function lineOf({ check, state, found, advice }: CheckResult, paint: Paint, width: number): string {
  const { mark, style } = MARKS[state];
  const text = (shown: string, lead: number) => wrapped(printableLine(shown), Math.max(20, width - lead), lead);
  const line = `${paint(style, mark)} ${check.padEnd(CHECK_WIDTH)}  ${text(found, LEAD)}`;
  return advice === null ? line : `${line}\n${" ".repeat(LEAD)}${paint("dim", "→")} ${text(advice, LEAD + 2)}`;
}

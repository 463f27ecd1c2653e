/** `tightbeam doctor`: whether everything between here and your receivers works, and what to do where it does not. */

import type { Command } from "commander";
import { type Cli, examples } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";
import type { Finding, State } from "./finding.ts";
import { type Paint, printable } from "./output.ts";

/** Adds `doctor`. The checks are loaded only when it runs. */
export function addDoctor(program: Command, cli: Cli): void {
  program
    .command("doctor")
    .description("Check server, key, clock, channels, webhooks and their deliveries, and say what to do.")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam doctor": "a line for each check: ✔ well, ! worth a look, ✖ broken",
        "tightbeam doctor | jq '.[] | select(.state != \"ok\")'": "only what is not well",
      })}\n\nWith the admin key at hand (TIGHTBEAM_ADMIN_KEY, or credentials.json) it also looks at instances and whose the key is.
Exit codes: 0 nothing is broken; 1 something is.`,
    )
    .action(() => examine(cli));
}

async function examine(cli: Cli): Promise<void> {
  const { examineAll } = await import("./checks.ts");
  const given = (kind: "messages" | "admin") => {
    try {
      return cli.connection(kind);
    } catch (error) {
      // That there is none is one of the findings.
      if (error instanceof UsageError) return null;
      throw error;
    }
  };
  const findings = await examineAll({
    server: cli.server(),
    messages: given("messages"),
    admin: given("admin"),
    version: cli.version,
  });
  cli.output().show(findings, (all, paint) => all.map((finding) => lineOf(finding, paint)).join("\n"));
  const broken = findings.filter(({ state }) => state === "broken");
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

function lineOf({ check, state, found, advice }: Finding, paint: Paint): string {
  const { mark, style } = MARKS[state];
  const line = `${paint(style, mark)} ${check.padEnd(CHECK_WIDTH)}  ${printable(found)}`;
  if (advice === null) return line;
  return `${line}\n${" ".repeat(CHECK_WIDTH + 4)}${paint("dim", "→")} ${printable(advice)}`;
}

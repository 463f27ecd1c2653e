/** The command line: its commands, how they end, and what is said when they fail. */

import { styleText } from "node:util";
import { Command } from "commander";
import { commandsOf } from "./command.ts";
import { EXIT, type ExitCode, exitCodeOf, explain } from "./failure.ts";
import { addInbox } from "./inbox.ts";
import { addKeys } from "./keys.ts";
import { addMessages } from "./messages.ts";
import type { Terminal } from "./output.ts";
import { addSend } from "./send.ts";
import { addServe, describeServe } from "./serve.ts";
import { addUsage } from "./usage.ts";
import { addWebhooks } from "./webhooks.ts";

/** Runs one command line (without `node` and the script) and answers its exit code; never throws. */
export async function run(args: readonly string[], version: string, terminal: Terminal): Promise<ExitCode> {
  try {
    const program = await buildProgram(args, version, terminal);
    await program.parseAsync(args, { from: "user" });
    return EXIT.done;
  } catch (thrown) {
    const [first, ...more] = explain(thrown);
    if (first !== undefined) {
      terminal.stderr.write(`${[styleText("red", first, { stream: terminal.stderr }), ...more].join("\n")}\n`);
    }
    return exitCodeOf(thrown);
  }
}

async function buildProgram(args: readonly string[], version: string, terminal: Terminal): Promise<Command> {
  const program = new Command("tightbeam")
    .description("Send messages over iMessage and SMS, and get every event of them as a signed webhook.")
    .version(version, "-V, --version", "print the version")
    .option("--url <url>", "the server's address (TIGHTBEAM_URL)")
    .option("--key <key>", "API key (TIGHTBEAM_API_KEY, or TIGHTBEAM_ADMIN_KEY for commands that need the admin key)")
    .option("--json", "print JSON, also on a terminal; without a terminal it is the default")
    .option("--no-json", "print for people, also without a terminal")
    .helpOption("-h, --help", "explain the command, with examples")
    .helpCommand("help [command]", "explain a command")
    .addHelpText("after", GUIDE)
    .showHelpAfterError("Add --help for its arguments and examples.")
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => styleText("bold", title) })
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
    .exitOverride();
  const cli = commandsOf(program, terminal);
  if (args.includes("serve")) await addServe(program, cli);
  else describeServe(program);
  addSend(program, cli);
  addMessages(program, cli);
  addWebhooks(program, cli);
  addInbox(program, cli);
  addUsage(program, cli);
  addKeys(program, cli);
  return program;
}

const GUIDE = `
Begin:
  tightbeam serve                          run the service, here
  tightbeam send +15005550100 "Hello"      in another terminal: send, and follow it until it is delivered
  tightbeam inbox                          see its signed webhooks arrive
  tightbeam webhooks set <url>             have them sent to you

Server and key: from --url and --key, else TIGHTBEAM_URL, TIGHTBEAM_API_KEY and TIGHTBEAM_ADMIN_KEY, else the
credentials.json that a server's first start left in TB_DATA_DIR or ./data.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage. Without a terminal, stdout is one JSON document.`;

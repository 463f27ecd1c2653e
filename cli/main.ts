/** The command line: its commands, how they end, and what is said when they fail. */

import { styleText } from "node:util";
import { Command } from "commander";
import { addApi } from "./api.ts";
import { addCalls } from "./calls.ts";
import { addCapabilities } from "./capabilities.ts";
import { addChats } from "./chats.ts";
import { commandsOf } from "./command.ts";
import { addCompletion } from "./completion.ts";
import { absenceOf } from "./connection.ts";
import { addContacts } from "./contacts.ts";
import { addCustomers } from "./customers.ts";
import { addDoctor } from "./doctor.ts";
import { addEvents } from "./events.ts";
import { EXIT, type ExitCode, exitCodeOf, explain, NoKeyError, notThere } from "./failure.ts";
import { wrapHelp } from "./help.ts";
import { addInbox } from "./inbox.ts";
import { addInstances } from "./instances.ts";
import { addKeys } from "./keys.ts";
import { addListen } from "./listen.ts";
import { addMessages } from "./messages.ts";
import { addNumbers } from "./numbers.ts";
import { addOptOuts } from "./opt-outs.ts";
import { columnsOf, type Stream, type Terminal } from "./output.ts";
import { addPayments } from "./payments.ts";
import { addQuarantine } from "./quarantine.ts";
import { addQuietHours } from "./quiet-hours.ts";
import { addRevisions } from "./revisions.ts";
import { addRoutes } from "./routes.ts";
import { addSandbox } from "./sandbox.ts";
import { addSecretKey } from "./secret-key.ts";
import { addSend } from "./send.ts";
import { addServe, describeServe } from "./serve.ts";
import { addTrigger } from "./trigger.ts";
import { addUsage } from "./usage.ts";
import { addWebhooks } from "./webhooks.ts";

/** Runs one command line (without `node` and the script) and answers its exit code; never throws. */
export async function run(args: readonly string[], version: string, terminal: Terminal): Promise<ExitCode> {
  try {
    const program = await buildProgram(args, version, terminal);
    await program.parseAsync(args, { from: "user" });
    return EXIT.done;
  } catch (error) {
    const thrown = await underlying(error);
    const [first, ...more] = explain(thrown);
    if (first !== undefined) {
      terminal.stderr.write(`${[styleText("red", first, { stream: terminal.stderr }), ...more].join("\n")}\n`);
    }
    return exitCodeOf(thrown);
  }
}

/** Finds the real fault: a server that is not there needs no key. */
async function underlying(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof NoKeyError)) return thrown;
  const reason = await absenceOf(thrown.baseUrl);
  return reason === null ? thrown : notThere(thrown.baseUrl, reason);
}

/** Where no terminal says how wide it is. */
const HELP_WIDTH = 80;
/** Longer lines are hard to read, however wide the terminal is. */
const HELP_WIDTH_MAX = 120;

function helpWidth(terminal: Terminal, stream: Stream): number {
  const width = columnsOf(terminal, stream);
  return Number.isFinite(width) ? Math.min(width, HELP_WIDTH_MAX) : HELP_WIDTH;
}

/** All commands, ready to parse `args`; what a command needs only when it runs is left out unless they name it. */
export async function buildProgram(args: readonly string[], version: string, terminal: Terminal): Promise<Command> {
  const outWidth = () => helpWidth(terminal, terminal.stdout);
  const errWidth = () => helpWidth(terminal, terminal.stderr);
  const program = new Command("tightbeam")
    .description("Send messages over iMessage and SMS, and get every event of them as a signed webhook.")
    .version(version, "-V, --version", "print the version")
    .option("--url <url>", "the server's address (TIGHTBEAM_URL)")
    .option("--key <key>", "API key (TIGHTBEAM_API_KEY, or TIGHTBEAM_ADMIN_KEY for commands that need the admin key)")
    .option("--json", "print JSON, also on a terminal; without a terminal it is the default")
    .option("--no-json", "print for people, also without a terminal")
    .option("--wide", "show ids, times and texts whole, also where the terminal is too narrow for them")
    .helpOption("-h, --help", "explain the command, with examples")
    .helpCommand("help [command]", "explain a command")
    .addHelpText("after", GUIDE)
    .showHelpAfterError("Add --help for its arguments and examples.")
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => styleText("bold", title) })
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(wrapHelp(text, outWidth())),
      writeErr: (text) => terminal.stderr.write(wrapHelp(text, errWidth())),
      getOutHelpWidth: outWidth,
      getErrHelpWidth: errWidth,
    })
    .exitOverride();
  const cli = commandsOf(program, terminal);
  if (args.includes("serve") || args.includes("completion")) await addServe(program, cli);
  else describeServe(program);
  addSend(program, cli);
  addRevisions(addMessages(program, cli), cli);
  addChats(program, cli);
  addContacts(program, cli);
  addOptOuts(program, cli);
  addPayments(program, cli);
  addCalls(program, cli);
  addCapabilities(program, cli);
  addNumbers(program, cli);
  addWebhooks(program, cli);
  addEvents(program, cli);
  addListen(program, cli);
  addTrigger(program, cli);
  addInbox(program, cli);
  addSandbox(program, cli);
  addDoctor(program, cli);
  addApi(program, cli);
  addUsage(program, cli);
  addKeys(program, cli);
  addCustomers(program, cli);
  addRoutes(program, cli);
  addQuietHours(program, cli);
  addInstances(program, cli);
  addSecretKey(program, cli);
  addQuarantine(program, cli);
  addCompletion(program, cli);
  return program;
}

const GUIDE = `
Begin:
  tightbeam serve                          run the service, here
  tightbeam send +15005550100 "Hello"      in another terminal: send, and follow it until it is delivered
  tightbeam inbox                          see its signed webhooks arrive
  tightbeam listen --forward-to <url>      have them sent to a receiver on your machine, signed
  tightbeam webhooks set <url>             have them sent to your server
  tightbeam doctor                         when something does not work

Server and key: from --url and --key, else TIGHTBEAM_URL, TIGHTBEAM_API_KEY and TIGHTBEAM_ADMIN_KEY, else the
credentials.json that a server's first start left in TB_DATA_DIR or ./data.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage. Without a terminal, stdout is one JSON document,
of \`listen\` one a line, and nothing is ever asked.`;

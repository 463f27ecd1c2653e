/** Runs a command line: builds the program from the table of commands, and turns what a command throws into an exit code. */

import { styleText } from "node:util";
import { Command } from "commander";
import { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import { capabilities, numbers, usage } from "./account.ts";
import { pageAddress } from "./addresses.ts";
import { api } from "./api.ts";
import { backup } from "./backup.ts";
import { chats } from "./chats.ts";
import { type Cli, createCli } from "./cli.ts";
import { addCommand, type CommandRow } from "./command.ts";
import { groupCommands, LAST_GROUP } from "./command-groups.ts";
import { completion } from "./completion.ts";
import { absenceOf } from "./connection.ts";
import { contacts, optOuts } from "./contacts.ts";
import { customers, quietHours, routes } from "./customers.ts";
import { doctor } from "./doctor.ts";
import { events } from "./events.ts";
import { EXIT, type ExitCode, exitCodeOf, explain, NoKeyError, notThere } from "./failure.ts";
import { held } from "./held.ts";
import { wrapHelp } from "./help.ts";
import { inbox } from "./inbox.ts";
import { instances } from "./instances.ts";
import { keys } from "./keys.ts";
import { listen } from "./listen.ts";
import { messages } from "./messages.ts";
import { migrate } from "./migrate.ts";
import { open } from "./open.ts";
import { columnsOf, type Stream, type Terminal } from "./output.ts";
import { calls, payments } from "./payments.ts";
import { quarantine } from "./quarantine.ts";
import { requests } from "./requests.ts";
import { restore } from "./restore.ts";
import { sandbox } from "./sandbox.ts";
import { changeSecretKey } from "./secret-key.ts";
import { send } from "./send.ts";
import { serve, serveWithSettings } from "./serve.ts";
import { sessions } from "./sessions.ts";
import { test } from "./test.ts";
import { trigger } from "./trigger.ts";
import { vacuum } from "./vacuum.ts";
import { webhooks } from "./webhooks.ts";
import { wire } from "./wire.ts";

/** Every command, in the order of the help page. */
const COMMANDS: readonly CommandRow[] = [
  serve,
  open,
  send,
  messages,
  chats,
  contacts,
  optOuts,
  payments,
  calls,
  capabilities,
  numbers,
  webhooks,
  events,
  listen,
  wire,
  requests,
  trigger,
  inbox,
  sandbox,
  test,
  doctor,
  api,
  usage,
  keys,
  sessions,
  customers,
  routes,
  quietHours,
  instances,
  backup,
  restore,
  migrate,
  held,
  vacuum,
  changeSecretKey,
  quarantine,
  completion,
];

/** Runs one command line (without `node` and the script) and returns its exit code. Never throws. */
export async function run(args: readonly string[], version: string, terminal: Terminal): Promise<ExitCode> {
  let program: Command | null = null;
  try {
    program = await buildProgram(args, version, terminal);
    await program.parseAsync(args, { from: "user" });
    return EXIT.done;
  } catch (error) {
    const thrown = await underlying(error);
    const page = program === null ? null : await pageOfRefusal(thrown, createCli(program, terminal));
    const [first, ...more] = explain(thrown, page);
    if (first !== undefined) {
      terminal.stderr.write(`${[styleText("red", first, { stream: terminal.stderr }), ...more].join("\n")}\n`);
    }
    return exitCodeOf(thrown);
  }
}

/** Longest time in milliseconds that the server may take to say whether its log has a request. */
const LOOKUP_MS_MAX = 2_000;

/** The page of a refused request, for a person at the terminal; null unless the server's log keeps the request. */
async function pageOfRefusal(thrown: unknown, cli: Cli): Promise<string | null> {
  if (cli.terminal.stderr.isTTY !== true) return null;
  if (!(thrown instanceof TightbeamError) || thrown.requestId === null || thrown.code === "UNAUTHORIZED") return null;
  for (const kind of ["messages", "admin"] as const) {
    try {
      const { baseUrl, apiKey } = cli.connection(kind);
      const client = new Tightbeam({ baseUrl, apiKey, maxRetries: 0, timeoutMs: LOOKUP_MS_MAX });
      await client.requests.get(thrown.requestId);
      return pageAddress(baseUrl, thrown.requestId);
    } catch {
      // There is no such key, or it does not see the request.
    }
  }
  return null;
}

/** Replaces a missing key by the server's absence, if no server runs at the address. */
async function underlying(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof NoKeyError)) return thrown;
  const reason = await absenceOf(thrown.baseUrl);
  return reason === null ? thrown : notThere(thrown.baseUrl, reason);
}

/** Width of a help page without a terminal. */
const HELP_WIDTH = 80;
/** Longer lines are hard to read, however wide the terminal is. */
const HELP_WIDTH_MAX = 120;

function helpWidth(terminal: Terminal, stream: Stream): number {
  const width = columnsOf(terminal, stream);
  return Number.isFinite(width) ? Math.min(width, HELP_WIDTH_MAX) : HELP_WIDTH;
}

/** The program with all commands. The options of `serve` are added only if `args` need them: they load the server's code. */
export async function buildProgram(args: readonly string[], version: string, terminal: Terminal): Promise<Command> {
  const needsSettings = args.includes("serve") || args.includes("completion");
  const outWidth = () => helpWidth(terminal, terminal.stdout);
  const errWidth = () => helpWidth(terminal, terminal.stderr);
  const program = new Command("tightbeam")
    .description("Send messages over iMessage and SMS, and get their events as signed webhooks.")
    .version(version, "-V, --version", "print the version")
    .option("--url <url>", "the server's address (TIGHTBEAM_URL)")
    .option("--key <key>", "API key (TIGHTBEAM_API_KEY, or TIGHTBEAM_ADMIN_KEY for commands that need the admin key)")
    .option("--json", "print JSON on a terminal too; without a terminal it is the default")
    .option("--no-json", "print tables without a terminal too")
    .option("--wide", "never shorten ids, times and texts to the width of the terminal")
    .helpOption("-h, --help", "explain the command, with examples")
    .commandsGroup(LAST_GROUP)
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
  const cli = createCli(program, terminal);
  for (const row of COMMANDS)
    addCommand(program, cli, row === serve && needsSettings ? await serveWithSettings() : row);
  return groupCommands(program);
}

const GUIDE = `
Begin:
  tightbeam serve                          run the service on this machine
  tightbeam open                           open the console in a browser
  tightbeam send +15005550100 "Hello"      in another terminal: send a message and follow it
  tightbeam inbox                          see the signed webhooks of the sandbox
  tightbeam wire                           see requests, hops, events and deliveries as they happen
  tightbeam listen --forward-to <url>      forward events to a receiver on your machine
  tightbeam webhooks set <url>             send webhooks to your server
  tightbeam doctor                         find out what does not work

Server and key come from --url and --key, else from TIGHTBEAM_URL, TIGHTBEAM_API_KEY and TIGHTBEAM_ADMIN_KEY, else
from the credentials.json that a server's first start leaves in TB_DATA_DIR or ./data.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 141 the reader of stdout left. Without a terminal, stdout is
one JSON document (one a line from \`listen\`, \`wire\` and \`--follow\`), and no command asks a question.`;

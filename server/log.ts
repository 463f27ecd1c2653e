/**
 * The log: JSON lines on standard output, readable lines on a terminal. Fields are a closed list, each with its own
 * rule.
 */

import pino, { type DestinationStream, type LoggerOptions } from "pino";
import type { LogLevel } from "./config.ts";
import { LineOutput } from "./log-output.ts";
import { terminalDestination } from "./log-terminal.ts";

/** The fields of a line besides time, level and event. Message text, keys and secrets have no field. */
export interface LogFields {
  requestId?: string;
  correlationId?: string;
  method?: string;
  /** The pattern of a route (`/v1/messages/:id`), never the path. */
  route?: string;
  status?: number;
  durationMs?: number;
  keyId?: string | null;
  customerId?: string | null;
  /** The browser's session whose key a request uses. */
  sessionId?: string | null;
  messageId?: string | null;
  eventId?: string;
  eventType?: string;
  deliveryId?: string;
  webhookId?: string | null;
  instanceId?: string;
  provider?: string;
  channel?: string;
  /** Addresses of people: written as their last four characters. */
  from?: string;
  to?: string;
  outcome?: string;
  code?: string;
  attempt?: number;
  count?: number;
  retryAfterMs?: number;
  /** A URL; only its scheme, host and port are written. */
  origin?: string;
  port?: number;
  version?: string;
  signal?: string;
  /** Free text of our own or of an error: cut to 500 characters, keys, secrets, numbers and e-mail addresses masked. */
  reason?: string;
  /** The part of the service that reports the line. */
  where?: string;
  error?: unknown;
}

/** Writes one line: `event` names what happened in lower case words (`request`, `delivery failed`). Never throws. */
export type LogLine = (event: string, fields?: LogFields) => void;

/** A log with the levels that the service uses. */
export interface Log {
  debug: LogLine;
  info: LogLine;
  warn: LogLine;
  /** The only level that writes the stack of an error. */
  error: LogLine;
}

type Rule = (value: unknown, level: keyof Log) => unknown;

const TEXT_LENGTH_MAX = 500;
/** How much of a text is looked at, in characters: enough behind its end in the log that no key or number is cut in two. */
const SCANNED_LENGTH_MAX = 4 * TEXT_LENGTH_MAX;
/** How much of a stack is looked at, in characters. */
const STACK_LENGTH_MAX = 8_192;
const CAUSES_MAX = 3;
const WITHHELD = "[withheld]";

const RULES: Readonly<Record<keyof LogFields, Rule>> = {
  requestId: word,
  correlationId: word,
  method: word,
  route,
  status: number,
  durationMs: number,
  keyId: word,
  customerId: word,
  sessionId: word,
  messageId: word,
  eventId: word,
  eventType: word,
  deliveryId: word,
  webhookId: word,
  instanceId: word,
  provider: word,
  channel: word,
  from: lastFour,
  to: lastFour,
  outcome: word,
  code: word,
  attempt: number,
  count: number,
  retryAfterMs: number,
  origin,
  port: number,
  version: word,
  signal: word,
  reason: text,
  where: word,
  error: errorRecord,
};

/** A log that writes lines of at least `level`, to standard output by default. */
export function createLog(level: LogLevel, destination: DestinationStream = standardOutput()): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    messageKey: "event",
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  const lines = pino(options, destination);
  const at =
    (name: keyof Log): LogLine =>
    (event, fields = {}) => {
      if (lines.isLevelEnabled(name)) lines[name](allowed(fields, name), scrub(event));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

let lineOutput: LineOutput | null = null;

/** JSON for programs, readable lines for a terminal. */
function standardOutput(): DestinationStream {
  if (process.stdout.isTTY) return terminalDestination(process.stdout);
  lineOutput ??= openLineOutput();
  return lineOutput;
}

/** Standard output, to which the process writes what waits before it ends. */
function openLineOutput(): LineOutput {
  const output = new LineOutput(process.stdout.fd, ({ message }) => {
    process.stderr.write(`error: the log cannot be written (${message}): its lines are lost. The service goes on.\n`);
  });
  process.once("exit", () => output.flush());
  return output;
}

/** The permitted fields: listed names only, each by its rule. */
function allowed(fields: LogFields, level: keyof Log): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  for (const name in fields) {
    const rule = Object.hasOwn(RULES, name) ? RULES[name as keyof LogFields] : undefined;
    const value = fields[name as keyof LogFields];
    if (rule !== undefined && value !== undefined && value !== null) line[name] = rule(value, level);
  }
  return line;
}

function number(value: unknown): unknown {
  return typeof value === "number" ? value : WITHHELD;
}

/** A name or id: a text with spaces, a key and a phone number are refused. */
function word(value: unknown): string {
  if (typeof value !== "string" || !/^[\w.:-]{1,128}$/.test(value)) return WITHHELD;
  return scrub(value);
}

function route(value: unknown): string {
  return typeof value === "string" && /^[\w/:.*-]{1,200}$/.test(value) ? scrub(value) : WITHHELD;
}

function lastFour(value: unknown): string {
  return typeof value === "string" && value.length > 4 ? `…${value.slice(-4)}` : WITHHELD;
}

function origin(value: unknown): string {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  return url === null ? WITHHELD : `${url.protocol}//${url.host}`;
}

function text(value: unknown): string {
  return typeof value === "string" ? scrub(value.slice(0, SCANNED_LENGTH_MAX)).slice(0, TEXT_LENGTH_MAX) : WITHHELD;
}

/** Ids of the service. They contain dashes, and keys do not. */
const OWN_ID = /^(cor_[0-9a-f]{32}|[a-z]{2,4}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** Whether there may be anything to mask: most logged texts contain neither. */
const SUSPECT = /\d{4}|tb_|whsec_|@/;

/** Masks API keys, webhook secrets, e-mail addresses, and all but four digits of a number in a text. */
function scrub(value: string): string {
  if (OWN_ID.test(value) || !SUSPECT.test(value)) return value;
  return value
    .replace(/\btb_[A-Za-z0-9]+/g, "tb_…")
    .replace(/\bwhsec_[A-Za-z0-9+/=_-]+/g, "whsec_…")
    .replace(/[^\s"'<>]+/g, (part) => (/[^@/]@[^@]/.test(part) ? "…@…" : part))
    .replace(/(?<![\w.-])\+?\d[\d ()-]{5,18}(\d{4})(?![\w-])/g, "…$1");
}

interface ErrorRecord {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ErrorRecord;
}

function errorRecord(value: unknown, level: keyof Log): ErrorRecord | string {
  return value instanceof Error ? describe(value, level, CAUSES_MAX) : WITHHELD;
}

function describe(error: Error, level: keyof Log, causesMax: number): ErrorRecord {
  const code = (error as { code?: unknown }).code;
  return {
    type: word(error.name),
    ...(typeof code === "string" ? { code: word(code) } : {}),
    message: text(withoutInput(error.message.slice(0, SCANNED_LENGTH_MAX))),
    ...(level === "error" && error.stack !== undefined ? { stack: frames(error.stack, error.message) } : {}),
    ...(error.cause instanceof Error && causesMax > 0 ? { cause: describe(error.cause, level, causesMax - 1) } : {}),
  };
}

/** The message of an error without the input that Node quotes (`… "hello" is not valid JSON`, `… Received 'hello'`). */
function withoutInput(message: string): string {
  return message.replace(/Received .*$/s, "Received …").replace(/".*"|'.*'|`.*`/gs, ([quote]) => `${quote}…${quote}`);
}

/** The frames of a stack, without the message above them: a line of that may look like a frame. */
function frames(stack: string, message: string): string {
  const at = stack.indexOf(message);
  const below = at < 0 ? stack : stack.slice(at + message.length);
  const lines = below.slice(0, STACK_LENGTH_MAX).split("\n");
  // The last line is cut, and half a key or number would not be known as one.
  if (below.length > STACK_LENGTH_MAX) lines.pop();
  return lines
    .filter((line) => /^\s+at /.test(line))
    .map((line) => text(line.trim()))
    .join("\n");
}

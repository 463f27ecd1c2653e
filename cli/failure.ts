/** The failures of commands: their exit codes, and what is printed to stderr. */

import { CommanderError } from "commander";
import { TightbeamError } from "../sdk/errors.ts";
import { ABSENCE_ADVICE, isAbsence } from "../sdk/retry.ts";
import type { ErrorDetail } from "../sdk/wire.ts";
import { printableLine } from "../server/core/printable.ts";

/** Exit codes of every command: done, refused or failed, called wrongly. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command that was called correctly and failed: exit code 1. `advice` follows on lines of its own. */
export class Failure extends Error {
  /** Null if the message needs none. */
  readonly code: string | null;
  readonly advice: string[];

  constructor(code: string | null, message: string, advice: string[] = []) {
    super(message);
    this.code = code;
    this.advice = advice;
  }
}

/** A command that was called wrongly, or that knows no server or key: exit code 2. */
export class UsageError extends Error {}

/** No key is known for a server. Before it is reported, the server is looked for. */
export class NoKeyError extends UsageError {
  readonly baseUrl: string;

  constructor(baseUrl: string, message: string) {
    super(message);
    this.baseUrl = baseUrl;
  }
}

/** The exit code for a thrown value. Commander ends help and version by throwing too. */
export function exitCodeOf(thrown: unknown): ExitCode {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.done : EXIT.usage;
  return thrown instanceof UsageError ? EXIT.usage : EXIT.failed;
}

/** The lines for a thrown value; none for commander's errors, which it prints itself. A bug shows its stack. `page`: that of the refused request; null if there is none. */
export function explain(thrown: unknown, page: string | null = null): string[] {
  if (thrown instanceof CommanderError) return [];
  if (thrown instanceof UsageError) return [`error: ${thrown.message}`];
  if (thrown instanceof Failure) {
    const code = thrown.code === null ? "" : `${thrown.code} `;
    return [`error: ${code}${printableLine(thrown.message)}`, ...indent(thrown.advice)];
  }
  if (thrown instanceof TightbeamError) {
    const details = thrown.details
      .filter((detail) => !isInMessage(thrown, detail))
      .map((detail) => printableLine(`${detail.path}: ${detail.message}`));
    const request = thrown.requestId === null ? [] : [`requestId: ${printableLine(thrown.requestId)}`];
    if (page !== null) request.push(page);
    return [
      // The command line names its own options instead of the client's.
      `error: ${thrown.code} ${printableLine(thrown.message.replace(` ${ABSENCE_ADVICE}`, ""))}`,
      ...indent([...details, ...request, ...advise(thrown)]),
    ];
  }
  return [`error: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`];
}

/** Whether the message of a refusal already contains this detail, perhaps with the value in between. */
function isInMessage({ message, details }: TightbeamError, { path, message: wrong }: ErrorDetail): boolean {
  return details.length === 1 && message.startsWith(`${path}:`) && message.includes(wrong.replace(/\.$/, ""));
}

/** Whether nothing listened at the address, so that the request had no effect. */
export function wasNeverReached(error: unknown): boolean {
  return error instanceof TightbeamError && isAbsence(error);
}

const NOT_THERE = [
  "The server is not running there. Start it with: tightbeam serve (in the repository: npm start)",
  "If it runs elsewhere, name it with --url or TIGHTBEAM_URL.",
];

/** The failure for a server at whose address nothing listens, with the reason (`ECONNREFUSED`). */
export function notThere(baseUrl: string, reason: string): Failure {
  return new Failure("CONNECTION_FAILED", `Nothing answers at ${new URL(baseUrl).origin} (${reason}).`, NOT_THERE);
}

function advise(error: TightbeamError): string[] {
  if (wasNeverReached(error)) return NOT_THERE;
  if (error.code === "UNAUTHORIZED") return ["Give a valid key with --key, TIGHTBEAM_API_KEY or TIGHTBEAM_ADMIN_KEY."];
  if (error.code === "UNEXPECTED_RESPONSE") return ["Is --url the address of a Tightbeam server?"];
  return [];
}

function indent(lines: string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

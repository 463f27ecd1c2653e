/** The log on a terminal: each JSON line as a line for people, with the same content. */

import { styleText } from "node:util";
import { printable } from "./core/printable.ts";

/** Colours a text, unless the terminal has no colours. */
type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** The built-in inbox: each webhook of the sandbox is posted to it, and its lines would hide all others. */
const INBOX_ROUTE = "/sandbox/inbox/";
/** Width of most routes, so that the rest is aligned in columns. */
const ROUTE_WIDTH = 38;

/** The destination of log lines for people: `write` takes a JSON line. */
export function terminalDestination(stream: NodeJS.WriteStream): { write(line: string): void } {
  const paint: Paint = (style, text) => styleText(style, text, { stream });
  return {
    write(line) {
      const shown = terminalLine(line, paint);
      if (shown !== null) stream.write(`${shown}\n`);
    },
  };
}

/** The readable form of a JSON log line, in local time; null for a line that is not shown. */
function terminalLine(line: string, paint: Paint): string | null {
  const { time, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const at = paint("dim", timeOfDay(new Date(String(time))));
  if (event === "request") {
    const request = requestLine(fields, paint);
    return request === null ? null : `${at}  ${request}`;
  }
  const { error, ...facts } = fields;
  const pairs = Object.entries(facts).map(([name, value]) => `${paint("dim", name)} ${plain(value)}`);
  const name =
    level === "info" || level === "debug" ? plain(event) : `${paint(styleOf(level), plain(level))}  ${plain(event)}`;
  return [`${at}  ${name}`, ...pairs].join("  ") + errorLines(error, paint);
}

function requestLine(fields: Record<string, unknown>, paint: Paint): string | null {
  const { method, route, status, durationMs, requestId, sessionId } = fields;
  const path = typeof route === "string" ? route : "(no such route)";
  if (method === "POST" && path.startsWith(INBOX_ROUTE)) return null;
  const isRefused = Number(status) >= 400;
  // Open pages of the console read every few seconds.
  if (sessionId !== undefined && method === "GET" && !isRefused) return null;
  const parts = [
    plain(method ?? "-").padEnd(6),
    plain(path).padEnd(ROUTE_WIDTH),
    paint(statusStyle(Number(status)), plain(status)),
    typeof durationMs === "number" ? `${milliseconds(durationMs)} ms` : "",
    isRefused ? paint("dim", plain(requestId)) : "",
  ];
  return parts.filter((part) => part !== "").join("  ");
}

/** `Error code: message`, each cause and the frames of the stack below it. */
function errorLines(error: unknown, paint: Paint): string {
  if (typeof error !== "object" || error === null) return error === undefined ? "" : `  ${plain(error)}`;
  const { type, code, message, stack, cause } = error as Record<string, unknown>;
  const named = [type, code].filter((part) => part !== undefined).map(plain);
  const frames =
    typeof stack === "string" ? stack.split("\n").map((frame) => `\n    ${paint("dim", plain(frame))}`) : [];
  const because = cause === undefined ? "" : `\n    caused by${errorLines(cause, paint)}`;
  return `  ${named.join(" ")}: ${plain(message)}${frames.join("")}${because}`;
}

function styleOf(level: unknown): "yellow" | "red" {
  return level === "warn" ? "yellow" : "red";
}

function statusStyle(status: number): "green" | "yellow" | "red" {
  if (status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}

function milliseconds(durationMs: number): string {
  return durationMs < 10 ? durationMs.toFixed(1) : String(Math.round(durationMs));
}

function timeOfDay(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** A value as text on one line, without characters that control the terminal. */
function plain(value: unknown): string {
  return printable(String(value));
}

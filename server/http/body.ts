/** Bodies of requests: read within a limit, and parsed as JSON that is neither too deep nor holds what no store takes. */

import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorDetail } from "../../sdk/wire.ts";
import { ApiError, invalidFields } from "../core/error.ts";

/** Deepest nesting of a body (contract 1). */
export const DEPTH_MAX = 32;

/** Most fields and list items of a body: as many errors block the process for under 50 ms. */
export const FIELDS_MAX = 50_000;

/** Field whose strings are the caller's own affair: it is kept as JSON text, in which every character is escaped. */
const FREE_FIELD = "metadata";

/** The client went away, or was cut off, before the whole body had come: there is nobody to answer. */
export class BodyAborted extends Error {}

/** Requests that wait for `100 Continue`: it is sent when their body is wanted, not before. */
const awaitingContinue = new WeakSet<IncomingMessage>();

/** Notes that the client sends its body only when told to. */
export function awaitContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/** Whether a body may follow: a length above 0, or a length that only its end will tell. */
export function mayHaveBody(request: IncomingMessage): boolean {
  const length = request.headers["content-length"];
  return (length !== undefined && length !== "0") || request.headers["transfer-encoding"] !== undefined;
}

/**
 * The bytes of the body, empty when there is none. More than `bytesMax` is a 413. `admit` is asked once, when it is
 * sure that there is at least one byte, and refuses by throwing. Rejects with `BodyAborted` when the client goes away.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
  admit: () => void = () => {},
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) throw new BodyAborted();
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > 0) {
      admit();
      if (announced > bytesMax) throw tooLarge(bytesMax);
    }
    if (awaitingContinue.delete(request)) response.writeContinue();
    const chunks: Buffer[] = [];
    let received = 0;
    const settle = (settled: () => void) => {
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      settled();
    };
    const onData = (chunk: Buffer) => {
      if (received === 0 && announced === 0) {
        try {
          admit();
        } catch (error) {
          return settle(() => reject(error));
        }
      }
      received += chunk.length;
      if (received > bytesMax) return settle(() => reject(tooLarge(bytesMax)));
      chunks.push(chunk);
    };
    const onEnd = () => {
      const [first = EMPTY] = chunks;
      settle(() => resolve(chunks.length < 2 ? first : Buffer.concat(chunks, received)));
    };
    const onClose = () => settle(() => reject(new BodyAborted()));
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", ignore);
  });
}

const EMPTY = Buffer.alloc(0);

/** `close` follows every `error`, and is what is acted on. */
function ignore(): void {}

function tooLarge(bytesMax: number): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `The body is larger than the ${bytesMax} bytes allowed here. Send less.`);
}

/**
 * Refuses what is not JSON by its headers: 415. Called only where there is a body, since published clients send
 * `Content-Type: application/json` with every request and nothing with some.
 */
export function admitJson(request: IncomingMessage): void {
  const type = request.headers["content-type"];
  if (type === undefined || !JSON_TYPE.test(type)) {
    const got = type === undefined ? "a body without a Content-Type" : `a body of type ${quote(type)}`;
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", `This is ${got}. Send JSON, as Content-Type: application/json.`);
  }
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    const message = `The body is encoded as ${quote(encoding)}. Send it without a Content-Encoding.`;
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", message);
  }
}

const JSON_TYPE = /^application\/json[ \t]*(;|$)/i;

/** A value of the caller's inside a message: short, and nothing that a terminal would act on. */
export function quote(value: string): string {
  const shown = value.length > 60 ? `${value.slice(0, 60)}…` : value;
  return JSON.stringify(shown.toWellFormed());
}

/**
 * The value of a body of at least one byte. Not UTF-8 or not JSON: 400 `INVALID_JSON`. Too deep or too many fields:
 * 413. A string with NUL or half a surrogate pair: 400, all of them named, since one store would alter it and another refuse it.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError("INVALID_JSON", "The body is not valid UTF-8.");
  const source = bytes.toString("utf8");
  // Both are limited before anything is built, and nothing here calls itself.
  checkSize(source);
  const value = parse(source);
  if (ESCAPED_ODDITY.test(source)) refuseOddStrings(value);
  return value;
}

function parse(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    const position = / at position \d+( \(line \d+ column \d+\))?$/.exec(error instanceof Error ? error.message : "");
    throw new ApiError("INVALID_JSON", `The body is not valid JSON${position?.[0] ?? ""}. Check quotes and commas.`);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/** Counts brackets and commas outside strings. In what is not JSON the count means nothing, and parsing says so. */
function checkSize(source: string): void {
  // 33 pairs of brackets do not fit into less.
  if (source.length <= 2 * DEPTH_MAX) return;
  let depth = 0;
  let commas = 0;
  for (let index = 0; index < source.length; index += 1) {
    const code = source.charCodeAt(index);
    if (code === QUOTE) {
      index = endOfString(source, index);
    } else if (code === COMMA) {
      commas += 1;
      if (commas >= FIELDS_MAX) throw tooMany(`has more than ${FIELDS_MAX} fields`);
    } else if ((code | 0x20) === 0x7b) {
      depth += 1;
      if (depth > DEPTH_MAX) throw tooMany(`is nested deeper than ${DEPTH_MAX} levels`);
    } else if ((code | 0x20) === 0x7d) {
      depth -= 1;
    }
  }
}

function tooMany(what: string): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `The body ${what}. Send less.`);
}

/** Index of the quote that closes the string opened at `start`, or the end of the text. */
function endOfString(source: string, start: number): number {
  for (let from = start + 1; ; ) {
    const end = source.indexOf('"', from);
    if (end < 0) return source.length;
    let slashes = 0;
    while (source.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
    from = end + 1;
  }
}

/** Raw NUL is no JSON, and UTF-8 has no surrogates: only an escape can make either. */
const ESCAPED_ODDITY = /\\u(0000|d[89a-f])/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is looked for
const NUL = /\u0000/;

/** Whether a store may take the string: it has no NUL and no half of a surrogate pair. */
export function isStorable(value: string): boolean {
  return value.isWellFormed() && !NUL.test(value);
}

const ODD = "must not contain NUL or half a surrogate pair";

function refuseOddStrings(root: unknown): void {
  const details: ErrorDetail[] = [];
  const left: { value: unknown; path: string }[] = [{ value: root, path: "" }];
  for (let item = left.pop(); item !== undefined; item = left.pop()) {
    const { value, path } = item;
    if (typeof value === "string") {
      if (!isStorable(value)) details.push({ path: path || "body", message: ODD });
    } else if (Array.isArray(value)) {
      value.forEach((inner, index) => void left.push({ value: inner, path: `${path}[${index}]` }));
    } else if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        if (!isStorable(name)) details.push({ path: path || "body", message: `has a field whose name ${ODD}` });
        else if (name !== FREE_FIELD) left.push({ value: inner, path: path === "" ? name : `${path}.${name}` });
      }
    }
  }
  if (details.length > 0) throw invalidFields(details);
}

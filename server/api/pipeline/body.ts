/** Reads the bytes of a body within a limit (413), and refuses bodies that are no plain JSON by their headers (415). */

import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "../../core/error.ts";
import { CLIENT_GONE } from "./client-gone.ts";
import { quote } from "./json.ts";

/** Requests whose clients wait for `100 Continue`. It is sent when the body is about to be read. */
const awaitingContinue = new WeakSet<IncomingMessage>();

/** Notes that the client sends its body only after `100 Continue`. */
export function awaitContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/** Whether a body may follow: the request announces a length above 0, or a body in chunks. */
export function mayHaveBody(request: IncomingMessage): boolean {
  const length = request.headers["content-length"];
  return (length !== undefined && length !== "0") || request.headers["transfer-encoding"] !== undefined;
}

/** The announced length of the body, in bytes; 0 if none is announced, for example for a body in chunks. */
export function announcedBytes(request: IncomingMessage): number {
  return Number(request.headers["content-length"] ?? 0);
}

/** How a body is read. */
export interface BodyReading {
  /** Largest body, in bytes; a larger one is a 413. */
  bytesMax: number;
  /** Called once, as soon as at least one byte is certain. Throws to refuse the body. */
  admit(): void;
  /** Reserves memory before bytes are read: the announced length at once, or step by step as a body in chunks grows. */
  reserve(bytes: number): void | Promise<void>;
}

/**
 * Reads the bytes of the body, empty if there is no body. While `reserve` waits, nothing is read and the client gets no
 * `100 Continue`. Rejects with errors of `admit` and `reserve`, and with `ClientGone` if the client leaves.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  reading: BodyReading,
): Promise<Buffer> {
  const { bytesMax, admit, reserve } = reading;
  if (request.destroyed) throw CLIENT_GONE;
  const announced = announcedBytes(request);
  if (announced > 0) {
    admit();
    if (announced > bytesMax) throw tooLarge(bytesMax);
  }
  const reserved = reserve(announced > 0 ? announced : FIRST_STEP_BYTES);
  if (reserved !== undefined) await reserved;
  if (request.destroyed) throw CLIENT_GONE;
  if (awaitingContinue.delete(request)) response.writeContinue();
  return announced > 0 ? takeAnnounced(request, announced) : takeChunks(request, reading);
}

/** Reads a body of known length into one piece of memory. The HTTP parser ends the body at the announced length. */
function takeAnnounced(request: IncomingMessage, announced: number): Promise<Buffer> {
  let whole: Buffer | null = null;
  let received = 0;
  return pour(request, {
    onData(chunk) {
      if (received === 0 && chunk.length === announced) whole = chunk;
      else {
        whole ??= Buffer.allocUnsafeSlow(announced);
        chunk.copy(whole, received);
      }
      received += chunk.length;
    },
    onEnd: () => whole?.subarray(0, received) ?? EMPTY,
  });
}

/** Memory reserved for a body in chunks, in bytes: first, and as the second step. Each further step doubles it. */
const FIRST_STEP_BYTES = 16_384;
const SECOND_STEP_BYTES = 65_536;

function takeChunks(request: IncomingMessage, { bytesMax, admit, reserve }: BodyReading): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let received = 0;
  let room = FIRST_STEP_BYTES;
  return pour(request, {
    onData(chunk) {
      if (received === 0) admit();
      received += chunk.length;
      if (received > bytesMax) throw tooLarge(bytesMax);
      chunks.push(chunk);
      if (received <= room) return undefined;
      const wanted = Math.min(bytesMax, Math.max(SECOND_STEP_BYTES, received, room * 2));
      const more = wanted - room;
      room = wanted;
      return reserve(more);
    },
    onEnd: () => (chunks.length === 1 ? (chunks[0] ?? EMPTY) : Buffer.concat(chunks, received)),
  });
}

interface BodySink {
  /** Takes a chunk. No further chunk comes while the promise is pending. */
  onData(chunk: Buffer): void | Promise<void>;
  onEnd(): Buffer;
}

function pour(request: IncomingMessage, { onData, onEnd }: BodySink): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stopListening = () => void request.off("data", data).off("end", end).off("close", close);
    const fail = (error: unknown) => {
      stopListening();
      reject(error);
    };
    const data = (chunk: Buffer) => {
      try {
        const waits = onData(chunk);
        if (waits === undefined) return;
        request.pause();
        waits.then(() => void request.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    const end = () => {
      stopListening();
      resolve(onEnd());
    };
    const close = () => fail(CLIENT_GONE);
    request.on("data", data).on("end", end).on("close", close).on("error", ignore);
  });
}

const EMPTY = Buffer.alloc(0);

/** `close` follows every `error` and is handled. */
function ignore(): void {}

function tooLarge(bytesMax: number): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `The body is larger than the ${bytesMax} bytes allowed here. Send less.`);
}

/**
 * Throws 415 unless the headers announce plain JSON. Called only if there is a body: published clients send
 * `Content-Type: application/json` with every request, also without a body.
 */
export function admitJson({ headers }: Pick<IncomingMessage, "headers">): void {
  const type = headers["content-type"];
  if (type === undefined || !JSON_TYPE.test(type)) {
    const problem = type === undefined ? "The body has no Content-Type." : `The body has the type ${quote(type)}.`;
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", `${problem} Send JSON, with Content-Type: application/json.`);
  }
  const charset = CHARSET.exec(type)?.[1]?.toLowerCase() ?? "utf-8";
  if (charset !== "utf-8" && charset !== "utf8") {
    const message = `The body has the charset ${quote(charset)}. Send JSON in UTF-8, the only one that JSON has.`;
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", message);
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    const message = `The body is encoded as ${quote(encoding)}. Send it without a Content-Encoding.`;
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", message);
  }
}

/** The parameter `charset` of a type, quoted or not (RFC 9110, 8.3.1). */
const CHARSET = /;[ \t]*charset="?([^";, \t]*)/i;

const JSON_TYPE = /^application\/json[ \t]*(;|$)/i;

/** Bodies of requests: whether there may be one, and its bytes, read within a limit. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "../../core/error.ts";
import { quote } from "./json.ts";

/** The client has gone or was cut off before its request was served: nobody waits for the response. */
export class ClientGone extends Error {}

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

/** The announced length of the body, in bytes; 0 if none is announced, as of a body in chunks. */
export function announcedBytes(request: IncomingMessage): number {
  return Number(request.headers["content-length"] ?? 0);
}

/** How a body is read. */
export interface BodyReading {
  /** Largest body, in bytes; a larger one is a 413. */
  bytesMax: number;
  /** Asked once, as soon as it is certain that there is at least one byte; refuses by throwing. */
  admit(): void;
  /** Asked for room before bytes are taken: for the announced length at once, or in steps as a body in chunks grows. */
  reserve(bytes: number): void | Promise<void>;
}

/**
 * The bytes of the body, empty when there is none. While `reserve` waits nothing is read, and the client is not told
 * to continue. Rejects with what `admit` and `reserve` throw, and with `ClientGone` when the client goes away.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  reading: BodyReading,
): Promise<Buffer> {
  const { bytesMax, admit, reserve } = reading;
  if (request.destroyed) throw new ClientGone();
  const announced = announcedBytes(request);
  if (announced > 0) {
    admit();
    if (announced > bytesMax) throw tooLarge(bytesMax);
  }
  const reserved = reserve(announced > 0 ? announced : FIRST_STEP_BYTES);
  if (reserved !== undefined) await reserved;
  if (request.destroyed) throw new ClientGone();
  if (awaitingContinue.delete(request)) response.writeContinue();
  return announced > 0 ? takeAnnounced(request, announced) : takeChunks(request, reading);
}

/** Reads a body of known length into one piece of memory. The parser sees to it that no more comes than was announced. */
function takeAnnounced(request: IncomingMessage, announced: number): Promise<Buffer> {
  let whole: Buffer | null = null;
  let received = 0;
  return take(request, {
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

/** Room that a body in chunks begins with, in bytes, and the next step; each further one doubles it. */
const FIRST_STEP_BYTES = 16_384;
const SECOND_STEP_BYTES = 65_536;

function takeChunks(request: IncomingMessage, { bytesMax, admit, reserve }: BodyReading): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let received = 0;
  let room = FIRST_STEP_BYTES;
  return take(request, {
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

interface Taking {
  /** Takes a chunk; while the promise is pending, no further one comes. */
  onData(chunk: Buffer): void | Promise<void>;
  onEnd(): Buffer;
}

function take(request: IncomingMessage, { onData, onEnd }: Taking): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void) => {
      request.off("data", data).off("end", end).off("close", close);
      settled();
    };
    const fail = (error: unknown) => settle(() => reject(error));
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
    const end = () => settle(() => resolve(onEnd()));
    const close = () => fail(new ClientGone());
    request.on("data", data).on("end", end).on("close", close).on("error", ignore);
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

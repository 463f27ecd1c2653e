/** Reads a stream of server-sent events, and reconnects after a lost connection: no event is missed or repeated. */

import { TightbeamError } from "./errors.ts";
import type { Connection, RequestOptions } from "./request.ts";
import { isAbsence } from "./retry.ts";

/** The service sends a comment every 15 s; a stream without data for this long is dead. */
const SILENCE_MS_MAX = 45_000;
/** Silence is looked for by the clock, since no timer runs while a computer sleeps. */
const SILENCE_CHECK_MS = 5_000;
const RECONNECT_MS = 1_000;
const RECONNECT_MS_MAX = 30_000;

/** An id before every other: a stream after it begins with the first event, and reports no gap. */
export const BEFORE_ALL_EVENTS = "evt_00000000-0000-7000-8000-000000000000";

/** A stream to read. */
export interface StreamRequest {
  path: string;
  query: RequestOptions["query"];
  /** Id of the last event that was handled. */
  lastEventId: string;
  signal?: AbortSignal | undefined;
  headers?: RequestOptions["headers"];
  onGap?: (() => void) | undefined;
  /** Called after each new connection but the first. */
  onReconnect?: (() => void) | undefined;
}

/** A frame with data. `name` is the type of the frame. */
export interface StreamFrame {
  id: string | null;
  name: string;
  data: string;
}

/** The frames of a stream, each id once. Throws for a refusal that would repeat itself. */
export async function* readStream(
  connection: Connection,
  request: StreamRequest,
): AsyncGenerator<StreamFrame, void, undefined> {
  let { lastEventId } = request;
  let connections = 0;
  for (let failures = 0; ; ) {
    const stop = new AbortController();
    let reason: unknown = null;
    try {
      for await (const frame of connected(connection, { ...request, lastEventId }, stop)) {
        if (frame === "open") {
          if (connections > 0) request.onReconnect?.();
          connections += 1;
          continue;
        }
        failures = 0;
        if (frame === "gap") {
          if (lastEventId !== BEFORE_ALL_EVENTS) request.onGap?.();
        } else if (frame.id === null || frame.id !== lastEventId) {
          lastEventId = frame.id ?? lastEventId;
          yield frame;
        }
      }
    } catch (error) {
      request.signal?.throwIfAborted();
      if (isFinal(error, connection.hasResponded())) throw error;
      reason = error;
    } finally {
      stop.abort();
    }
    await connection.wait(delayMs(reason, failures), asError(reason ?? "the stream ended"), request.signal);
    failures += 1;
  }
}

/** The frames of one connection, until it ends or is silent for too long. */
async function* connected(
  connection: Connection,
  { path, query, lastEventId, signal: given, headers }: StreamRequest,
  stop: AbortController,
): AsyncGenerator<StreamFrame | "gap" | "open", void, undefined> {
  const signal = AbortSignal.any(given === undefined ? [stop.signal] : [given, stop.signal]);
  let heardAt = Date.now();
  const check = setInterval(() => {
    if (Date.now() - heardAt > SILENCE_MS_MAX) stop.abort();
  }, SILENCE_CHECK_MS);
  try {
    const response = await connection.openStream(path, { query, lastEventId, signal, headers });
    yield "open";
    for await (const text of framesOf(response)) {
      heardAt = Date.now();
      const frame = parse(text);
      if (frame !== null) yield frame;
    }
  } finally {
    clearInterval(check);
  }
}

/** The frames of a stream, which empty lines separate. */
async function* framesOf(response: Response): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let rest = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      rest = frames.pop() ?? "";
      yield* frames;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Null for a keep-alive comment. */
function parse(text: string): StreamFrame | "gap" | null {
  const lines = text.split(/\r?\n/);
  if (lines.some((line) => line === ": gap")) return "gap";
  const valuesOf = (field: string) =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).trimStart());
  const data = valuesOf("data");
  if (data.length === 0) return null;
  return { id: valuesOf("id").at(-1) ?? null, name: valuesOf("event").at(-1) ?? "message", data: data.join("\n") };
}

/** Whether a retry would fail alike: a bad key, a bad filter, a server that never responded. */
function isFinal(error: unknown, hasResponded: boolean): boolean {
  if (!(error instanceof TightbeamError)) return false;
  if (isAbsence(error) && !hasResponded) return true;
  return error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 408;
}

function delayMs(error: unknown, failures: number): number {
  const asked = error instanceof TightbeamError ? error.retryAfterSeconds : null;
  return asked === null ? Math.min(RECONNECT_MS * 2 ** failures, RECONNECT_MS_MAX) : asked * 1_000;
}

function asError(cause: unknown): TightbeamError {
  if (cause instanceof TightbeamError) return cause;
  return new TightbeamError("CONNECTION_FAILED", "The stream of events ended.", { cause });
}

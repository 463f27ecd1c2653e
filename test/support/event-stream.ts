/** A reader of event streams, strict about their bytes, that can stop reading, and be dropped at any byte. */

import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import type { AnyEvent } from "../../sdk/wire.ts";

/** One received frame. */
export interface Frame {
  id: string;
  type: string;
  /** The envelope as text, and parsed. */
  bytes: string;
  event: AnyEvent;
}

/** How to open a stream. */
export interface Opening {
  key?: string | null;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  /** Drops the connection after this many characters; an incomplete frame is lost. */
  dropAfter?: number;
}

/** An open stream, or another response. */
export interface EventStream {
  status: number;
  headers: IncomingMessage["headers"];
  frames: Frame[];
  comments: string[];
  /** Everything that came, as text. */
  text: string;
  /** Whether the service ended it, or cut it. */
  isOver: boolean;
  /** Takes no more bytes, or takes them again. */
  pause(): void;
  resume(): void;
  drop(): void;
}

const FRAME = /^id: (\S+)\nevent: (\S+)\ndata: ([^\n]*)$/;

/** Opens a stream and resolves when its head has come. */
export function openStream(url: string, opening: Opening = {}): Promise<EventStream> {
  const {
    key = null,
    path = "/v1/events",
    method = "GET",
    headers = {},
    dropAfter = Number.POSITIVE_INFINITY,
  } = opening;
  return new Promise((resolve, reject) => {
    const sent = {
      accept: "text/event-stream",
      ...headers,
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    };
    const asked = request(url + path, { method, headers: sent, agent: false }, (response) => {
      const stream: EventStream = {
        status: response.statusCode ?? 0,
        headers: response.headers,
        frames: [],
        comments: [],
        text: "",
        isOver: false,
        pause: () => void response.pause(),
        resume: () => void response.resume(),
        drop: () => void asked.destroy(),
      };
      const isStream = response.headers["content-type"] === "text/event-stream";
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        if (stream.isOver) return;
        const part = chunk.slice(0, dropAfter - stream.text.length);
        stream.text += part;
        if (isStream) {
          const parts = (rest + part).split("\n\n");
          rest = parts.pop() ?? "";
          for (const whole of parts) take(stream, whole);
        }
        if (stream.text.length < dropAfter) return;
        stream.isOver = true;
        asked.destroy();
      });
      const over = () => {
        stream.isOver = true;
      };
      response.on("close", over).on("error", over);
      resolve(stream);
    });
    // Also of a connection that is dropped later, when nobody waits for the head any more.
    asked.on("error", reject);
    asked.end();
  });
}

function take(stream: EventStream, part: string): void {
  if (part.startsWith(":")) {
    stream.comments.push(part);
    return;
  }
  const [, id = "", type = "", bytes = ""] = FRAME.exec(part) ?? [];
  assert.ok(id !== "", `not a frame: ${JSON.stringify(part)}`);
  const event = JSON.parse(bytes) as AnyEvent;
  assert.deepEqual([event.id, event.type], [id, type]);
  stream.frames.push({ id, type, bytes, event });
}

/** A webhook receiver on loopback: records requests, and responds as a test sets it. */

import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AnyEvent } from "../../sdk/wire.ts";
import { until } from "./wait.ts";

/** A webhook as it arrived. */
export interface Received {
  at: number;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  event: AnyEvent;
  /** Status of the response, null until the response was written. */
  status: number | null;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Types of the events received, in order of arrival. */
  types(messageId?: string): string[];
  /** How it answers from now on: 200 at the start. */
  answer: (received: Received, response: ServerResponse) => void;
  /** Resolves when no connection is open: everything that an ended process sent has been received. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a receiver on a free port, or on `port`. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const server = createServer((request, response) => {
    void take(request).then((received) => {
      receiver.received.push(received);
      response.on("finish", () => {
        received.status = response.statusCode;
      });
      receiver.answer(received, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    types: (messageId) =>
      receiver.received
        .filter(({ event }) => messageId === undefined || event.data.messageId === messageId)
        .map(({ event }) => event.type),
    answer: (_, response) => response.end("ok"),
    async idle() {
      const open = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
      await until(async () => (await open()) === 0, { what: "the end of the receiver's connections" });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

async function take(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  return {
    at: Date.now(),
    path: request.url ?? "",
    headers: request.headers,
    body,
    event: JSON.parse(body) as AnyEvent,
    status: null,
  };
}

/** Whether a webhook carries the signature (docs/security.md) made with `secret`. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const signed = `${headers["x-timestamp"]}.${body}`;
  return headers["x-signature"] === `sha256=${createHmac("sha256", secret).update(signed).digest("hex")}`;
}

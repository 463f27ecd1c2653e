/** A server on loopback that a test can close and open again. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { freePort } from "../free-port.ts";

export interface Listening {
  url: string;
  close(): Promise<void>;
  /** Listens again at the same address. */
  reopen(): Promise<void>;
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Listens on a port that stays its own while it is closed. A handler that throws ends the connection. */
export async function listen(serve: Serve): Promise<Listening> {
  const server = createServer((request, response) => {
    Promise.resolve(serve(request, response)).catch(() => response.destroy());
  });
  const port = await freePort();
  const open = () => new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  await open();
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      if (!server.listening) return;
      const closed = new Promise((resolve) => void server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
    reopen: open,
  };
}

/** The whole body as text. */
export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Responds with JSON. */
export function answer(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Responds with an error in the API's form. */
export function refuse(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
  headers?: object,
): void {
  answer(response, status, { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status }, headers);
}

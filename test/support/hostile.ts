/** Receivers that behave badly below or beside HTTP: they hang, drip, flood, reset, or have a bad certificate. */

import { createServer as createTcp, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { createServer as createTls } from "node:tls";
import { TLS_CERTIFICATE, TLS_KEY } from "./certificate.ts";
import { freePort } from "./free-port.ts";

/** A receiver that reads requests and responds in its own way. */
export interface Hostile {
  url: string;
  port: number;
  /** Connections made to it so far. */
  connections(): number;
  /** Connections open now. */
  open(): number;
  /** Requests whose head has come so far. */
  requests(): number;
  stop(): Promise<void>;
}

/** The action on a connection when the head of a request has arrived. */
export type Behaviour = (socket: Socket) => void;

/** Reads the request, and never responds. */
export const hang: Behaviour = () => {};

/** Cuts the connection without a word. */
export const reset: Behaviour = (socket) => socket.resetAndDestroy();

/** Sends a byte of its response's head each second, for ever. */
export const drip: Behaviour = (socket) => {
  socket.write("HTTP/1.1 200 OK\r\nX-Drip: ");
  const timer = setInterval(() => socket.write("x"), 1_000);
  socket.on("close", () => clearInterval(timer));
};

/** Responds with 200 and an endless body, as fast as it is read. */
export const flood: Behaviour = (socket) => {
  const chunk = Buffer.alloc(64 * 1024, "x");
  const pour = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
  socket.on("drain", pour);
  pour();
};

/** Starts a receiver until the test ends, on a port of loopback where nothing else listens afterwards; with TLS its certificate is not trusted. */
export async function startHostile(
  t: TestContext,
  behave: Behaviour,
  { tls = false }: { tls?: boolean } = {},
): Promise<Hostile> {
  const sockets = new Set<Socket>();
  const seen = { connections: 0, requests: 0 };
  const take = (socket: Socket) => {
    let received = "";
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      if (!received.includes("\r\n\r\n")) return;
      // After the head the same connection carries its body, or the next request: both are small.
      received = "";
      seen.requests += 1;
      behave(socket);
    });
  };
  const server: Server = tls ? createTls({ key: TLS_KEY, cert: TLS_CERTIFICATE }, take) : createTcp(take);
  server.on("tlsClientError", () => {});
  server.on("connection", (socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  t.after(stop);
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}/hook`,
    port,
    connections: () => seen.connections,
    open: () => sockets.size,
    requests: () => seen.requests,
    stop,
  };
}

/** Which failed posts had no connection to their receiver. */

import assert from "node:assert/strict";
import { type AddressInfo, type connect, createServer, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { parseAllowList } from "../core/address.ts";
import { isUnreached, Poster, type PosterOptions } from "./post.ts";

async function post(t: TestContext, url: string, options: Partial<PosterOptions> = {}) {
  const poster = new Poster({
    allow: parseAllowList("loopback"),
    userAgent: "Tightbeam/1.2.3",
    deadlineMs: 200,
    ...options,
  });
  t.after(() => poster.close());
  const posted = await poster.post({ url, body: "{}", headers: {} });
  return [posted.error, isUnreached(posted)];
}

/** A receiver that treats each connection so. */
async function receiver(t: TestContext, take: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    take(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("an attempt is unreached if it made no connection, whatever the reason, and not if the receiver took it", async (t) => {
  const silent = await receiver(t, () => {});
  const resetting = await receiver(t, (socket) => socket.once("data", () => socket.resetAndDestroy()));
  const speaking = await receiver(t, (socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
  // No network answers: the connection is never made.
  const open = (() => new Socket()) as unknown as typeof connect;
  assert.deepEqual(await post(t, silent), ["TIMEOUT", false]);
  assert.deepEqual(await post(t, resetting), ["CONNECTION_RESET", false]);
  assert.deepEqual(await post(t, speaking), ["PROTOCOL_ERROR", false]);
  assert.deepEqual(await post(t, silent, { open }), ["TIMEOUT", true]);
  assert.deepEqual(await post(t, "http://10.0.0.1/"), ["ADDRESS_REFUSED", true]);
  assert.deepEqual(await post(t, "http://127.0.0.1:1/"), ["CONNECTION_REFUSED", true]);
  assert.deepEqual(await post(t, silent.replace("http:", "https:")), ["TIMEOUT", true], "no TLS was made");
});

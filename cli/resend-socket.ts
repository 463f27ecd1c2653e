/** The socket by which `events resend` reaches a running `listen`, in a directory that only its user can enter. */

import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { Forward } from "./forward.ts";

/** Longest line of either side. */
const LINE_LENGTH_MAX = 16_384;
/** An attempt ends within 30 s; this is a little more. */
const RESPONSE_MS_MAX = 35_000;
/** Longest path of a socket that every system accepts, in bytes. */
const PATH_LENGTH_MAX = 100;
const NAME = /^listen-[0-9a-f]{8}\.sock$/;

/** Forwards an event again; null if the event does not belong to the listener's customer. */
export type Resend = (eventId: string) => Promise<Forward | null>;

/**
 * Serves `requestResends` of other processes until the returned function is called. Returns null if there can be no
 * such socket: on Windows, or if the directory's path is too long.
 */
export async function serveResends(directory: string, resend: Resend): Promise<(() => void) | null> {
  const path = join(directory, `listen-${randomBytes(4).toString("hex")}.sock`);
  if (process.platform === "win32" || Buffer.byteLength(path) > PATH_LENGTH_MAX) return null;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    void lineFrom(socket)
      .then((line) => resend(line))
      .then(
        (forward) => socket.end(`${JSON.stringify(forward)}\n`),
        () => socket.destroy(),
      );
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
  chmodSync(path, 0o600);
  return () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
}

/** Requests another forward of the event from every running `listen` of this user. Returns those that were made. */
export async function requestResends(directory: string, eventId: string): Promise<Forward[]> {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => NAME.test(name));
  } catch {
    return [];
  }
  const forwards = await Promise.all(names.map((name) => requestResend(join(directory, name), eventId)));
  return forwards.filter((forward) => forward !== null);
}

async function requestResend(path: string, eventId: string): Promise<Forward | null> {
  const socket = connect(path);
  const deadline = setTimeout(() => socket.destroy(), RESPONSE_MS_MAX);
  try {
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    socket.on("error", () => {});
    socket.write(`${eventId}\n`);
    return JSON.parse(await lineFrom(socket)) as Forward | null;
  } catch (error) {
    // Its process was killed before it could remove the socket.
    if (error instanceof Error && "code" in error && error.code === "ECONNREFUSED") rmSync(path, { force: true });
    return null;
  } finally {
    clearTimeout(deadline);
    socket.destroy();
  }
}

/** The first line. Rejects if the other end closes before, or if the line is too long. */
function lineFrom(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (part: string) => {
      text += part;
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > LINE_LENGTH_MAX) socket.destroy();
    });
    socket.on("close", () => reject(new Error("the socket closed")));
  });
}

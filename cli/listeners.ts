/** How `events resend` reaches a `listen` that runs: a socket of its user's own, in a directory only that user can enter. */

import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { Forward } from "./forward.ts";

/** A line of either side is shorter. */
const LINE_LENGTH_MAX = 16_384;
/** An attempt ends within 30 s; this is a little more. */
const ANSWER_MS_MAX = 35_000;
/** Longest path that every system takes for a socket, in bytes. */
const PATH_LENGTH_MAX = 100;
const NAME = /^listen-[0-9a-f]{8}\.sock$/;

/** What a listener answers: the attempt it made; null when the event is not one of its customer's. */
export type Resend = (eventId: string) => Promise<Forward | null>;

/**
 * Lets `tellListeners` ask this process, until what it answers is called. Null where there can be no such socket: on
 * Windows, or where the directory's path is too long for one.
 */
export async function hearResends(directory: string, resend: Resend): Promise<(() => void) | null> {
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

/** Asks every `listen` of this user to forward the event once more; answers what those of its customer did. */
export async function tellListeners(directory: string, eventId: string): Promise<Forward[]> {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => NAME.test(name));
  } catch {
    return [];
  }
  const answers = await Promise.all(names.map((name) => ask(join(directory, name), eventId)));
  return answers.filter((answer) => answer !== null);
}

async function ask(path: string, eventId: string): Promise<Forward | null> {
  const socket = connect(path);
  const deadline = setTimeout(() => socket.destroy(), ANSWER_MS_MAX);
  try {
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    socket.on("error", () => {});
    socket.write(`${eventId}\n`);
    return JSON.parse(await lineFrom(socket)) as Forward | null;
  } catch (error) {
    // Nobody is behind it any more: it was killed before it could take it away.
    if (error instanceof Error && "code" in error && error.code === "ECONNREFUSED") rmSync(path, { force: true });
    return null;
  } finally {
    clearTimeout(deadline);
    socket.destroy();
  }
}

/** The first line that comes. Rejects when the other end closes before, or says too much. */
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
    socket.on("close", () => reject(new Error("it closed")));
  });
}

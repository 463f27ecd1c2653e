/** A port for a server that a test or a benchmark starts in a process of its own. */

import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";

/** Below the ports that a system gives to a socket that names none: Linux begins at 32,768, macOS at 49,152. */
const FIRST = 12_000;
const LAST = 31_999;

/**
 * A port on loopback that nothing listens on, and that stays so until its server starts, however much later: no socket gets it that
 * names no port, and no other process gets it from here while this one lives.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    if ((await reserve(port)) && (await isClosed(port))) return port;
  }
}

/** Takes the UDP port of the same number until this process ends: it stands for the other one. Returns whether no process has it. */
function reserve(port: number): Promise<boolean> {
  const mark = createSocket("udp4").unref();
  return new Promise((resolve) => {
    mark.once("error", () => {
      mark.close();
      resolve(false);
    });
    mark.bind({ port, address: "127.0.0.1", exclusive: true }, () => resolve(true));
  });
}

/** Whether nothing listens on a port. */
function isClosed(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

/** Requests pages, in its own process: keeps connections busy with one GET each, and measures the responses. */

import { connect, type Socket } from "node:net";
import { answerParent } from "./child.ts";
import { nowMs, pause } from "./clock.ts";
import { framing } from "./framing.ts";

/**
 * A closed loop of GET requests for `ms`: each connection pauses for `pauseMs` between a response and its next request.
 */
export interface Getting {
  port: number;
  /** Null: without a key. */
  key: string | null;
  /** Requested in turn. */
  paths: readonly string[];
  connections: number;
  ms: number;
  pauseMs: number;
}

/** Milliseconds of each answered request, in the order of the responses, and the number of responses other than 200. */
export interface Got {
  latenciesMs: number[];
  refused: number;
}

answerParent<Getting, Got>(async (getting) => {
  const got: Got = { latenciesMs: [], refused: 0 };
  await Promise.all(Array.from({ length: getting.connections }, () => drive(getting, got)));
  return got;
});

async function drive({ port, key, paths, ms, pauseMs }: Getting, got: Got): Promise<void> {
  const endsAt = nowMs() + ms;
  const bearer = key === null ? "" : `Authorization: Bearer ${key}\r\n`;
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${bearer}\r\n`);
  const socket = await open(port);
  let answered = (_head: string) => {};
  socket.on(
    "data",
    framing((head) => answered(head)),
  );
  for (let index = 0; nowMs() < endsAt; index += 1) {
    const request = requests[index % requests.length] ?? "";
    const sentAt = nowMs();
    const head = await new Promise<string>((resolve) => {
      answered = resolve;
      socket.write(request);
    });
    got.latenciesMs.push(nowMs() - sentAt);
    if (!head.startsWith("HTTP/1.1 200")) got.refused += 1;
    if (pauseMs > 0) await pause(pauseMs);
  }
  socket.destroy();
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    socket.once("connect", () => resolve(socket)).once("error", reject);
  });
}

/** The receiver of webhooks, a process of its own: answers every request with a 200 and counts; a second port answers late, a third never. */

import { createServer, type Server } from "node:net";
import { answerParent } from "./child.ts";
import { nowMs } from "./clock.ts";
import { framing } from "./framing.ts";

/** `reset` begins a new count. */
export type ReceiverQuestion = "ports" | "count" | "reset";

/** `lastAt` is when the newest webhook came, on the machine's monotonic clock. */
export interface Received {
  port: number;
  /** Answers after 300 ms. */
  slowPort: number;
  /** Accepts connections and requests, and responds to none. */
  hangingPort: number;
  count: number;
  lastAt: number;
}

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

const SLOW_MS = 300;

let count = 0;
let lastAt = 0;

const answering = answerAfter(0);
const slow = answerAfter(SLOW_MS);
const hanging = createServer((socket) => void socket.on("error", () => {}).resume());

/** Counts requests when they come, and answers each one after `ms`. */
function answerAfter(ms: number): Server {
  return createServer({ noDelay: true }, (socket) => {
    const read = framing(() => {
      count += 1;
      if (ms === 0) socket.write(ANSWER);
      else setTimeout(() => socket.write(ANSWER), ms);
    });
    socket
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        read(chunk);
        lastAt = nowMs();
      });
  });
}

async function portOf(server: Server): Promise<number> {
  if (!server.listening) {
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", 4_096, resolve));
  }
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

answerParent<ReceiverQuestion, Received>(async (question) => {
  if (question === "reset") count = 0;
  return {
    port: await portOf(answering),
    slowPort: await portOf(slow),
    hangingPort: await portOf(hanging),
    count,
    lastAt,
  };
});

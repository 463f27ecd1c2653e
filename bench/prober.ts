/** Measures latency, in its own process: sends messages at a steady rate and receives their webhooks itself. */

import { connect, createServer, type Socket } from "node:net";
import { answerParent } from "./child.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { framing } from "./framing.ts";
import { bodyOf, requestOf } from "./request.ts";

/** `port` null asks where the prober receives; else messages are sent to `port`. */
export interface Probe {
  port: number | null;
  key: string;
  arrivals: Arrivals;
}

/**
 * When messages are sent. At random (Poisson) at a rate, each measured until its first webhook; or as a burst, each of some
 * connections sending the next when the last was answered, measured until the webhook that its message is delivered.
 */
export type Arrivals = { perSecond: number; seconds: number } | { messages: number; connections: number };

/**
 * Milliseconds from the planned instant of each request to its response and to its webhook. The planned instant counts,
 * not the actual one, so that a stall counts for every request that it delays.
 */
export interface Probed {
  receivingPort: number;
  toAnswerMs: number[];
  toWebhookMs: number[];
}

const WEBHOOKS_MS_MAX = 30_000;
/** Before each instant the loop is spun rather than slept: timers have a grain of a millisecond. */
const SPUN_MS = 1.5;
const ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

/** The planned instant of each message, by its `externalMessageId`; removed by the awaited webhook. */
const planned = new Map<string, number>();
let toWebhookMs: number[] = [];
let runs = 0;
/** The type of the awaited webhooks; null for any. */
let awaited: string | null = null;

const receiver = createServer({ noDelay: true }, (socket) => {
  const read = framing((_, body) => {
    const at = nowMs();
    socket.write(ANSWER);
    const event: { type: string; data: { externalMessageId?: string } } = JSON.parse(body.toString());
    if (awaited !== null && event.type !== awaited) return;
    const id = event.data.externalMessageId ?? "";
    const plannedAt = planned.get(id);
    if (plannedAt === undefined) return;
    planned.delete(id);
    toWebhookMs.push(at - plannedAt);
  });
  socket.on("error", () => {}).on("data", read);
});

/** Idle connections. If all are busy, another connection is opened. */
class Connections {
  readonly #port: number;
  readonly #free: { send: (request: string, answered: () => void) => void }[] = [];
  readonly #sockets: Socket[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  send(request: string, answered: () => void): void {
    (this.#free.pop() ?? this.#open()).send(request, answered);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #open() {
    const socket = connect({ host: "127.0.0.1", port: this.#port, noDelay: true });
    let onAnswer = () => {};
    const connection = {
      send: (request: string, answered: () => void) => {
        onAnswer = answered;
        socket.write(request);
      },
    };
    const read = framing((head) => {
      if (!head.startsWith("HTTP/1.1 202")) throw new Error(`a message was refused: ${head}`);
      onAnswer();
      this.#free.push(connection);
    });
    socket.on("data", read);
    this.#sockets.push(socket);
    return connection;
  }
}

async function probe({ port, key, arrivals }: Probe & { port: number }): Promise<number[]> {
  const connections = new Connections(port);
  const toAnswerMs: number[] = [];
  const run = runs++;
  const send = (index: number, plannedAt: number, answered = () => {}) => {
    const id = `probe-${run}-${index}`;
    planned.set(id, plannedAt);
    const body = bodyOf(index, { kind: "queued", recipients: "many" }, id);
    connections.send(requestOf(key, body), () => {
      toAnswerMs.push(nowMs() - plannedAt);
      answered();
    });
  };
  if ("messages" in arrivals) await sendBurst(arrivals, send);
  else await sendSteadily(arrivals, send);
  await waitFor("all messages get their webhook", () => planned.size === 0, { limitMs: WEBHOOKS_MS_MAX });
  connections.close();
  return toAnswerMs;
}

type SendMessage = (index: number, plannedAt: number, answered?: () => void) => void;

async function sendBurst({ messages, connections }: { messages: number; connections: number }, send: SendMessage) {
  awaited = "message.delivered";
  let sent = 0;
  const sendNext = async () => {
    while (sent < messages) await new Promise<void>((resolve) => send(sent++, nowMs(), resolve));
  };
  await Promise.all(Array.from({ length: connections }, sendNext));
}

async function sendSteadily({ perSecond, seconds }: { perSecond: number; seconds: number }, send: SendMessage) {
  awaited = null;
  const startedAt = nowMs();
  const total = perSecond * seconds;
  let dueAt = startedAt;
  for (let index = 0; index < total; index += 1) {
    // Gaps of an exponential distribution: independent arrivals.
    dueAt += (-Math.log(1 - Math.random()) * 1_000) / perSecond;
    await until(dueAt);
    send(index, dueAt);
  }
}

async function until(at: number): Promise<void> {
  const sleepMs = at - nowMs() - SPUN_MS;
  if (sleepMs > 0) await pause(sleepMs);
  while (nowMs() < at) await new Promise((resolve) => setImmediate(resolve));
}

function listen(): Promise<number> {
  return new Promise((resolve) => {
    const answer = () => {
      const address = receiver.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    };
    if (receiver.listening) answer();
    else receiver.listen(0, "127.0.0.1", answer);
  });
}

answerParent<Probe, Probed>(async (asked) => {
  const receivingPort = await listen();
  if (asked.port === null) return { receivingPort, toAnswerMs: [], toWebhookMs: [] };
  toWebhookMs = [];
  const toAnswerMs = await probe({ ...asked, port: asked.port });
  return { receivingPort, toAnswerMs, toWebhookMs };
});

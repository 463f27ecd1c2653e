/** Measures latency, a process of its own: sends messages at a steady rate and receives their webhooks itself. */

import { connect, createServer, type Socket } from "node:net";
import { answerParent } from "./child.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { framing } from "./framing.ts";
import { bodyOf, requestOf } from "./request.ts";

/** `port` null asks where the prober receives; else messages are sent to `port`, arriving at random (Poisson). */
export interface Probe {
  port: number | null;
  key: string;
  perSecond: number;
  seconds: number;
}

/**
 * Milliseconds from the instant at which each request was to be sent, by the plan and not by when it could be
 * (so that a stall counts for all that it held up), to its answer and to its first webhook.
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

/** When each message was to be sent, by its `externalMessageId`; taken out by its first webhook. */
const planned = new Map<string, number>();
let toWebhookMs: number[] = [];
let runs = 0;

const receiver = createServer({ noDelay: true }, (socket) => {
  const read = framing((_, body) => {
    const at = nowMs();
    socket.write(ANSWER);
    const event: { data: { externalMessageId?: string } } = JSON.parse(body.toString());
    const id = event.data.externalMessageId ?? "";
    const plannedAt = planned.get(id);
    if (plannedAt === undefined) return;
    planned.delete(id);
    toWebhookMs.push(at - plannedAt);
  });
  socket.on("error", () => {}).on("data", read);
});

/** Connections that wait for nothing. One that is busy is not waited for: another is opened. */
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

async function probe({ port, key, perSecond, seconds }: Probe & { port: number }): Promise<number[]> {
  const connections = new Connections(port);
  const toAnswerMs: number[] = [];
  const run = runs++;
  const startedAt = nowMs();
  const total = perSecond * seconds;
  let dueAt = startedAt;
  for (let index = 0; index < total; index += 1) {
    // Gaps of an exponential distribution: arrivals that know nothing of each other.
    dueAt += (-Math.log(1 - Math.random()) * 1_000) / perSecond;
    await until(dueAt);
    const sentFor = dueAt;
    const id = `probe-${run}-${index}`;
    planned.set(id, sentFor);
    const body = bodyOf(index, { kind: "queued", recipients: "many" }, id);
    connections.send(requestOf(key, body), () => void toAnswerMs.push(nowMs() - sentFor));
  }
  await waitFor("all messages get their first webhook", () => planned.size === 0, { limitMs: WEBHOOKS_MS_MAX });
  connections.close();
  return toAnswerMs;
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

/** An SMSC, a process of its own: accepts every bind and every submit_sm, answers after a time, and sends receipts if it is asked to. */

import { createServer, type Socket } from "node:net";
import { decodePdu, encodePdu } from "../server/providers/smpp/codec.ts";
import { Frames } from "../server/providers/smpp/frames.ts";
import type { Pdu, SubmitSm } from "../server/providers/smpp/pdu.ts";
import { answerParent } from "./child.ts";
import { nowMs, pause } from "./clock.ts";

/** `hold`: from now on no submit_sm is answered. `release`: all are answered, in the given way, and the count begins anew. */
export type SmscQuestion = "port" | "count" | "hold" | { release: { responseMs: number; hasReceipts: boolean } };

/** Instants are on the machine's monotonic clock. */
export interface SmscCounts {
  port: number;
  /** Responses to submit_sm, and receipts that were answered, since the release. */
  responses: number;
  receipts: number;
  releasedAt: number;
  /** When the newest response was written. */
  lastAt: number;
}

const NO_TLVS = new Map<number, Uint8Array>();
/** esm_class of a receipt (SMPP 3.4, 5.2.12). */
const RECEIPT = 4;

let isHeld = false;
let way = { responseMs: 0, hasReceipts: false };
const counts: SmscCounts = { port: 0, responses: 0, receipts: 0, releasedAt: 0, lastAt: 0 };
/** Submits that wait for the release. */
let held: (() => void)[] = [];
let ids = 0;

const server = createServer({ noDelay: true }, (socket) => {
  const frames = new Frames();
  let sequence = 0;
  const answer = (pdu: SubmitSm) => {
    ids += 1;
    const messageId = ids.toString(16).padStart(8, "0");
    write(socket, { command: "submit_sm_resp", status: 0, sequence: pdu.sequence, messageId, tlvs: NO_TLVS });
    counts.responses += 1;
    counts.lastAt = nowMs();
    if (!way.hasReceipts) return;
    sequence += 1;
    write(socket, receiptOf(pdu, messageId, sequence));
  };
  const read = (pdu: Pdu) => {
    if (pdu.command === "submit_sm") take(() => answer(pdu));
    else if (pdu.command === "deliver_sm_resp") counts.receipts += 1;
    else reply(socket, pdu);
  };
  socket
    .on("error", () => {})
    .on("data", (chunk: Buffer) => {
      frames.push(chunk);
      for (let frame = frames.next(); frame !== null; frame = frames.next()) read(decodePdu(frame));
    });
});

function take(answer: () => void): void {
  if (isHeld) held.push(answer);
  else if (way.responseMs === 0) answer();
  else void pause(way.responseMs).then(answer);
}

function reply(socket: Socket, pdu: Pdu): void {
  const { sequence } = pdu;
  switch (pdu.command) {
    case "bind_transceiver":
    case "bind_transmitter":
    case "bind_receiver":
      write(socket, { command: `${pdu.command}_resp`, status: 0, sequence, systemId: "SMSC", tlvs: NO_TLVS });
      return;
    case "enquire_link":
    case "unbind":
      write(socket, { command: `${pdu.command}_resp`, status: 0, sequence });
      return;
    default:
  }
}

function receiptOf(pdu: SubmitSm, messageId: string, sequence: number): Pdu {
  const text = `id:${messageId} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:`;
  const ends = { source: pdu.destination, destination: pdu.source };
  return {
    ...pdu,
    ...ends,
    command: "deliver_sm",
    sequence,
    esmClass: RECEIPT,
    shortMessage: Buffer.from(text),
    tlvs: NO_TLVS,
  };
}

/** PDUs of one tick go out in one write. */
function write(socket: Socket, pdu: Pdu): void {
  if (socket.writableCorked === 0) {
    socket.cork();
    process.nextTick(() => socket.uncork());
  }
  socket.write(encodePdu(pdu));
}

async function listen(): Promise<void> {
  if (server.listening) return;
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  counts.port = typeof address === "object" && address !== null ? address.port : 0;
}

answerParent<SmscQuestion, SmscCounts>(async (question) => {
  await listen();
  if (question === "hold") isHeld = true;
  if (typeof question === "object") release(question.release);
  return counts;
});

function release(next: typeof way): void {
  isHeld = false;
  way = next;
  Object.assign(counts, { responses: 0, receipts: 0, releasedAt: nowMs(), lastAt: 0 });
  const answers = held;
  held = [];
  for (const answer of answers) take(answer);
}

/** One connection to an SMSC from its socket to its end: binds, submits, answers the SMSC's requests, unbinds. */

import type { Socket } from "node:net";
import type { Clock } from "../../clock.ts";
import { PeerFault } from "../provider.ts";
import { decodePdu, encodePdu, errorResponseTo, headerOf, isMessage, isResponse } from "./codec.ts";
import { describeSocketError, openSocket, type SmscEndpoint } from "./connect.ts";
import { Frames } from "./frames.ts";
import { PduError } from "./octets.ts";
import type { DataSm, DeliverSm, Pdu } from "./pdu.ts";
import { PendingRequests, type ResponsePdu } from "./pending-requests.ts";
import { describeStatus, ESME_RINVCMDID, ESME_ROK, ESME_RX_T_APPN } from "./status.ts";

export type BindKind = "transceiver" | "transmitter" | "receiver";

/** How an ESME introduces itself (SMPP 3.4, 4.1), and its timeouts. */
export interface SessionSettings extends SmscEndpoint {
  systemId: string;
  password: string;
  systemType: string;
  addressTon: number;
  addressNpi: number;
  addressRange: string;
  responseTimeoutMs: number;
  enquireLinkMs: number;
}

export interface SessionEvents {
  /** `isBound` has changed, and the session has not ended. */
  stateChanged(): void;
  /** The session has ended, also if it was never bound. Called once; `reason` is a clause. */
  ended(reason: string): void;
  /** See `LinkEvents`; both are about a deliver_sm or data_sm. */
  deliver(pdu: DeliverSm | DataSm): Promise<number | null>;
  refused?(): void;
  fault(error: unknown): void;
}

/** For the connection, TLS included. */
const CONNECT_LIMIT_MS = 10_000;
/** How long an SMSC that unbinds may take for its open responses. */
const LINGER_MS = 2_000;
/** How long an SMSC may take to answer our unbind, and then to close. */
const CLOSE_MS = 1_000;
/** deliver_sm and data_sm that are handled at once. Beyond it responses are unread too, and keep their places in the window. */
export const DELIVERIES_OPEN_MAX = 256;
/** SMPP 3.4, 5.2.4 */
const INTERFACE_VERSION = 0x34;

type Stage = "new" | "connecting" | "binding" | "bound" | "leaving" | "ended";

/** The response to a submit_sm, or why there is none. */
export type SubmitResponse = { answer: ResponsePdu } | { answer: null; reason: string };

export class Session {
  readonly #kind: BindKind;
  readonly #settings: SessionSettings;
  readonly #events: SessionEvents;
  readonly #clock: Clock;
  readonly #frames = new Frames();
  readonly #requests: PendingRequests;
  readonly #reportedFaults = new Set<string>();
  #socket: Socket | null = null;
  #stage: Stage = "new";
  #stopTimer = () => {};
  #endReason = "";
  #receivedAt = 0;
  #readingPausedUntil = 0;
  #submitsOpen = 0;
  #deliveriesOpen = 0;
  #isEnquiring = false;
  #whenIdle = () => {};
  #closed = () => {};
  readonly #closing = new Promise<void>((resolve) => {
    this.#closed = resolve;
  });

  constructor(kind: BindKind, settings: SessionSettings, events: SessionEvents, clock: Clock) {
    this.#kind = kind;
    this.#settings = settings;
    this.#events = events;
    this.#clock = clock;
    const readingPausedUntil = () => (this.#isFull ? Number.POSITIVE_INFINITY : this.#readingPausedUntil);
    this.#requests = new PendingRequests(clock, settings.responseTimeoutMs, readingPausedUntil);
  }

  /** Whether a request can be written. */
  get isBound(): boolean {
    return this.#stage === "bound" && this.#socket?.writable === true;
  }

  /** Submits without a response. */
  get submitsOpen(): number {
    return this.#submitsOpen;
  }

  /** Responses that match no request. */
  get strays(): number {
    return this.#requests.strays;
  }

  /** Connects and binds. May be called once. */
  start(): void {
    this.#stage = "connecting";
    this.#limit(CONNECT_LIMIT_MS, `the connection was not made within ${CONNECT_LIMIT_MS / 1_000} seconds`);
    let socket: Socket;
    try {
      socket = openSocket(this.#settings, () => this.#bind());
    } catch (error) {
      this.#end(error instanceof Error ? describeSocketError(error) : "no socket could be created");
      return;
    }
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("drain", () => this.#read());
    socket.on("error", (error) => {
      this.#endReason = describeSocketError(error);
    });
    socket.on("close", () => {
      this.#closed();
      this.#end(this.#endReason || this.#whyClosed());
    });
  }

  /**
   * Writes the frame of a submit_sm under the next sequence number. May be called only while `isBound`. Resolves with
   * the response, or without one after the response timeout or at the end of the session.
   */
  submit(frame: Buffer): Promise<SubmitResponse> {
    return new Promise((resolve) => {
      this.#submitsOpen += 1;
      const sequence = this.#requests.open("submit_sm_resp", (answer) => {
        this.#submitsOpen -= 1;
        resolve(answer === null ? { answer, reason: this.#whyUnanswered() } : { answer });
        if (answer === null) this.#enquire();
        this.#checkIdle();
      });
      frame.writeUInt32BE(sequence, 12);
      this.#write(frame);
    });
  }

  /** Waits at most `limitMs` for open requests, unbinds, and resolves when the socket is closed. */
  async leave(limitMs: number): Promise<void> {
    // A session that is unbinding already ends by itself.
    if (this.#stage !== "leaving") {
      if (this.#stage === "bound") {
        this.#stage = "leaving";
        this.#stopTimer();
        await this.#idle(limitMs);
        await this.#unbind();
      }
      this.#end("we left");
    }
    await this.#closing;
  }

  get #isFull(): boolean {
    return this.#deliveriesOpen >= DELIVERIES_OPEN_MAX;
  }

  #bind(): void {
    if (this.#stage !== "connecting") return;
    this.#stage = "binding";
    this.#stopTimer();
    const { systemId, password, systemType, addressTon, addressNpi, addressRange } = this.#settings;
    const serves = { ton: addressTon, npi: addressNpi, address: addressRange };
    const fields = { systemId, password, systemType, interfaceVersion: INTERFACE_VERSION, serves };
    const sequence = this.#requests.open(`bind_${this.#kind}_resp`, (answer) => this.#boundBy(answer));
    try {
      this.#write(encodePdu({ command: `bind_${this.#kind}`, sequence, ...fields }));
    } catch (error) {
      this.#end(
        error instanceof PduError ? `the bind cannot be written: ${error.message}` : "the bind cannot be written",
      );
    }
  }

  #boundBy(answer: ResponsePdu | null): void {
    if (this.#stage !== "binding") return;
    if (answer === null) this.#end(`the SMSC did not answer the bind ${this.#inTime()}`);
    else if (answer.status !== ESME_ROK) this.#end(`the SMSC refuses the bind: ${describeStatus(answer.status)}`);
    else if (answer.command === "generic_nack") this.#end("the SMSC does not accept the bind");
    else {
      this.#stage = "bound";
      this.#scheduleEnquire();
      this.#events.stateChanged();
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#stage === "ended") return;
    this.#receivedAt = this.#clock.real();
    this.#frames.push(chunk);
    this.#read();
  }

  /** Handles frames until there are no more, too many are being handled, or the SMSC does not read our responses. */
  #read(): void {
    const socket = this.#socket;
    if (socket === null || this.#stage === "ended") return;
    try {
      while (!this.#isOver() && !this.#isFull) {
        const frame = this.#frames.next();
        if (frame === null) break;
        this.#take(frame);
      }
    } catch (error) {
      if (!(error instanceof PduError)) throw error;
      // The next frame cannot be found any more, nor a sequence number be read (SMPP 3.4, 4.3).
      this.#write(encodePdu({ command: "generic_nack", status: error.status, sequence: 0 }));
      this.#end(`the SMSC sent something that is not a PDU: ${error.message}`);
      return;
    }
    if (this.#isOver()) return;
    if (this.#isFull || socket.writableNeedDrain) socket.pause();
    else if (socket.isPaused()) socket.resume();
  }

  #take(frame: Buffer): void {
    let pdu: Pdu;
    try {
      pdu = decodePdu(frame);
    } catch (error) {
      if (!(error instanceof PduError)) throw error;
      this.#refuse(frame, error);
      return;
    }
    switch (pdu.command) {
      case "deliver_sm":
      case "data_sm":
        void this.#deliver(pdu);
        return;
      case "enquire_link":
        this.#write(encodePdu({ command: "enquire_link_resp", status: ESME_ROK, sequence: pdu.sequence }));
        return;
      case "unbind":
        this.#write(encodePdu({ command: "unbind_resp", status: ESME_ROK, sequence: pdu.sequence }));
        this.#peerUnbinds();
        return;
      case "alert_notification":
      case "outbind":
        return; // Neither has a response (4.12.1, 4.1.7), and nothing here needs them.
      default:
        if ("status" in pdu) this.#requests.receive(pdu);
        else this.#write(encodePdu({ command: "generic_nack", status: ESME_RINVCMDID, sequence: pdu.sequence }));
    }
  }

  /** Answers an unreadable request with the error response of its command. An unreadable response gets no answer. */
  #refuse(frame: Buffer, { message, status }: PduError): void {
    const head = headerOf(frame);
    if (isResponse(head.commandId)) this.#requests.stray();
    else this.#write(encodePdu(errorResponseTo(head, status)));
    if (isMessage(head.commandId)) this.#events.refused?.();
    if (this.#reportedFaults.has(message)) return;
    this.#reportedFaults.add(message);
    const command = `0x${head.commandId.toString(16)}`;
    this.#events.fault(new PeerFault(`the SMSC sent a PDU (command ${command}) whose ${message}`));
  }

  async #deliver(pdu: DeliverSm | DataSm): Promise<void> {
    this.#deliveriesOpen += 1;
    let status: number | null;
    try {
      status = await this.#events.deliver(pdu);
    } catch (error) {
      status = ESME_RX_T_APPN;
      this.#events.fault(error);
    }
    const { sequence } = pdu;
    if (status !== null)
      this.#write(encodePdu({ command: `${pdu.command}_resp`, status, sequence, messageId: "", tlvs: new Map() }));
    if (this.#isFull) this.#readingPausedUntil = this.#clock.real();
    this.#deliveriesOpen -= 1;
    this.#read();
    this.#checkIdle();
  }

  /** The SMSC unbinds: submit nothing more, answer its open requests for a while, then close. */
  #peerUnbinds(): void {
    if (this.#stage !== "bound") return;
    this.#stage = "leaving";
    this.#endReason = "the SMSC unbound";
    this.#limit(LINGER_MS, this.#endReason);
    this.#whenIdle = () => this.#socket?.end();
    this.#checkIdle();
    this.#events.stateChanged();
  }

  /** Sends an enquire_link after a silence. */
  #scheduleEnquire(): void {
    const { enquireLinkMs } = this.#settings;
    const silentMs = Math.max(0, this.#clock.real() - this.#receivedAt);
    this.#stopTimer();
    this.#stopTimer = this.#clock.after(Math.max(1, enquireLinkMs - silentMs), () => {
      if (this.#clock.real() - this.#receivedAt >= enquireLinkMs) this.#enquire();
      else this.#scheduleEnquire();
    });
  }

  /** The session ends if the SMSC does not answer. */
  #enquire(): void {
    if (this.#stage !== "bound" || this.#isEnquiring) return;
    this.#isEnquiring = true;
    this.#stopTimer();
    const sequence = this.#requests.open("enquire_link_resp", (answer) => {
      this.#isEnquiring = false;
      if (answer === null) this.#end(`the SMSC did not answer an enquire_link ${this.#inTime()}`);
      else if (this.#stage === "bound") this.#scheduleEnquire();
    });
    this.#write(encodePdu({ command: "enquire_link", sequence }));
  }

  #unbind(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stage !== "leaving") return resolve();
      const stop = this.#clock.after(CLOSE_MS, resolve);
      const sequence = this.#requests.open("unbind_resp", () => {
        stop();
        resolve();
      });
      this.#write(encodePdu({ command: "unbind", sequence }));
    });
  }

  /** Resolves when no request is open in either direction, or after `limitMs`. */
  #idle(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.#clock.after(limitMs, resolve);
      this.#whenIdle = () => {
        stop();
        resolve();
      };
      this.#checkIdle();
    });
  }

  #checkIdle(): void {
    if (this.#stage === "ended" || this.#submitsOpen + this.#deliveriesOpen === 0) this.#whenIdle();
  }

  /** Frames of one tick go out in one write. */
  #write(frame: Buffer): void {
    const socket = this.#socket;
    if (socket === null || !socket.writable) return;
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    socket.write(frame);
  }

  /** Ends the session unless the present step is done in time. */
  #limit(ms: number, reason: string): void {
    this.#stopTimer();
    this.#stopTimer = this.#clock.after(ms, () => this.#end(reason));
  }

  #end(reason: string): void {
    if (this.#stage === "ended") return;
    const isConnected = this.#stage !== "connecting";
    this.#stage = "ended";
    this.#endReason = reason;
    this.#stopTimer();
    if (isConnected) this.#hangUp();
    else this.#socket?.destroy();
    if (this.#socket === null) this.#closed();
    this.#requests.endAll();
    this.#checkIdle();
    this.#events.ended(reason);
  }

  /** Data that is written already still goes out if the SMSC reads it. */
  #hangUp(): void {
    const socket = this.#socket;
    if (socket === null || socket.destroyed) return;
    const stop = this.#clock.after(CLOSE_MS, () => socket.destroy());
    socket.once("close", stop);
    socket.end();
    socket.resume();
  }

  #isOver(): boolean {
    return this.#stage === "ended";
  }

  #whyClosed(): string {
    return `the SMSC closed the connection${this.#stage === "binding" ? " without an answer to the bind" : ""}`;
  }

  #whyUnanswered(): string {
    if (this.#isOver()) return `the session ended before the answer came: ${this.#endReason}`;
    return `the SMSC did not answer ${this.#inTime()}`;
  }

  #inTime(): string {
    return `within ${this.#settings.responseTimeoutMs / 1_000} seconds`;
  }
}

/** A fake Mac with BlueBubbles on a loopback port: HTTP, sockets, faults, and the phones that it writes with. */

import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { Server as SocketServer } from "socket.io";
import type { Clock } from "../../../server/clock.ts";
import { SimulatedClock } from "../clock.ts";
import { freePort } from "../free-port.ts";
import { type AttachmentRow, ChatDb, type ChatRow, type MessageRow } from "./chat-db.ts";
import { CONVERSATION_ROUTES } from "./conversations.ts";
import { type Answer, type FileBody, Refusal, unauthorized, unhandled } from "./envelope.ts";
import { Events, type MacEvent, type Webhook } from "./events.ts";
import { FAULTS, type Fault, Faults } from "./faults.ts";
import { match, parse, read, write } from "./http.ts";
import { MESSAGE_ROUTES } from "./messages.ts";
import { Hangup, Outbox } from "./outbox.ts";
import { attach, type File, type Habit, Phone, type Sent, type World } from "./phone.ts";
import { PrivateApi } from "./private-api.ts";
import { decodedOnceMore, type Inside, type Release, type Route } from "./route.ts";
import { SEND_ROUTES } from "./sends.ts";
import { SERVICE_ROUTES } from "./services.ts";

const ROUTES: readonly Route[] = [...SEND_ROUTES, ...MESSAGE_ROUTES, ...CONVERSATION_ROUTES, ...SERVICE_ROUTES];

/** Turns of the event loop without a request, after which the Mac counts as idle. */
const QUIET_TURNS = 40;

export interface MacOptions {
  /** The Mac's clock; by default its own clock, which stands still. */
  clock?: Clock;
  /** Version: BlueBubbles 1.9.9 on macOS 15 by default. */
  release?: Partial<Release>;
  password?: string;
  /** The address of the Mac's iMessage account. */
  ownAddress?: string;
  /** Makes the guids of two Macs different. */
  seed?: string;
  /** Whether `ft-call-status-changed` is pushed, or only `incoming-facetime`. */
  facetimeCalling?: boolean;
  /** Default habits of the phones. */
  habit?: Habit;
  /** Delay after which the files of a pushed row are linked; by default they are linked before. */
  linksFilesAfterMs?: number;
  /** Whether helper commands keep 200 ms between them; otherwise they are only counted. */
  helperWaits?: boolean;
}

/** Starts a Mac. It acts only on a test, a request or the clock. */
export async function startMac(options: MacOptions = {}): Promise<Mac> {
  const mac = new Mac(options);
  await mac.listen();
  return mac;
}

export class Mac {
  /** Requests so far as method and path without query, including requests that hang. */
  readonly requests: string[] = [];
  password: string;
  readonly clock: Clock;
  readonly #own: SimulatedClock | null;
  readonly #inside: Inside;
  readonly #privateApi: PrivateApi;
  readonly #outbox: Outbox;
  readonly #http: HttpServer;
  readonly #sockets: SocketServer;
  readonly #connections = new Set<Socket>();
  readonly #phones = new Map<string, Phone>();
  readonly #world: World;
  /** Requests that a sleeping Mac has not executed. */
  #asleep: (() => void)[] = [];
  #answers: (() => void)[] = [];
  #listening = Promise.resolve();
  #port = 0;
  #open = 0;

  constructor({
    clock,
    release = {},
    password = "over the rainbow & back",
    ownAddress = "+15550000001",
    seed = "mac",
    facetimeCalling = false,
    habit = "nothing",
    linksFilesAfterMs = 0,
    helperWaits = false,
  }: MacOptions) {
    this.password = password;
    const own = new SimulatedClock();
    this.#own = clock === undefined ? own : null;
    this.clock = clock ?? own;
    const faults = new Faults();
    const now = () => this.clock.now();
    const db = new ChatDb(seed, release.macOs === 26, () => ownAddress);
    const events = new Events(faults, now, (type, data) => this.#emit(type, data));
    this.#privateApi = new PrivateApi(this.clock, faults, helperWaits);
    const phone = (address: string) => this.phone(address);
    this.#outbox = new Outbox({ db, events, faults, clock: this.clock, phone });
    this.#world = {
      db,
      events,
      faults,
      clock: this.clock,
      ownAddress: () => ownAddress,
      facetimeCalling,
      habit,
      linksFilesAfterMs,
    };
    this.#inside = {
      ...this.#world,
      privateApi: this.#privateApi,
      outbox: this.#outbox,
      release: { version: "1.9.9", macOs: 15, ...release },
      phone,
      uploads: new Map<string, AttachmentRow>(),
      typing: new Set(),
      read: new Map(),
      queued: new Set(),
      appleScripts: { count: 0 },
    };
    this.#http = createServer((request, response) => void this.#door(request, response));
    this.#http.on("connection", (socket: Socket) => {
      this.#connections.add(socket);
      socket.on("close", () => this.#connections.delete(socket));
    });
    this.#sockets = new SocketServer(this.#http, {
      allowEIO3: true,
      serveClient: false,
      allowRequest: (_request, allow) => {
        if (faults.has("asleep")) this.#asleep.push(() => allow(null, true));
        else allow(null, true);
      },
    });
    this.#sockets.on("connection", (socket) => {
      const { guid, password: given, token } = socket.handshake.query;
      if (decodedOnceMore(String(guid ?? given ?? token ?? "")) !== this.password.trim()) socket.disconnect(true);
    });
  }

  /** `http://127.0.0.1:<port>`, which never changes. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Everything sent to phones, in order. */
  get sent(): readonly Sent[] {
    return this.#outbox.sent;
  }

  /** Events pushed, in order, with the number of receivers. */
  get emittedEvents(): readonly MacEvent[] {
    return this.#inside.events.emitted;
  }

  get webhooks(): readonly Webhook[] {
    return this.#inside.events.webhooks;
  }

  get messages(): readonly MessageRow[] {
    return this.#inside.db.messages;
  }

  get chats(): readonly ChatRow[] {
    return this.#inside.db.chats;
  }

  /** Commands that reached the helper in Messages. */
  get helperCalls(): PrivateApi["calls"] {
    return this.#privateApi.calls;
  }

  /** The most helper commands within one second; a real Mac executes five. */
  get busiestSecond(): number {
    return this.#privateApi.busiestSecond;
  }

  get appleScripts(): number {
    return this.#inside.appleScripts.count;
  }

  /** Guids of the chats in which the Mac's owner is shown typing. */
  get typing(): ReadonlySet<string> {
    return this.#inside.typing;
  }

  /** Chats with a read mark: true if read, false if unread. */
  get read(): ReadonlyMap<string, boolean> {
    return this.#inside.read;
  }

  get socketCount(): number {
    return this.#sockets.sockets.sockets.size;
  }

  /** Returns the phone of an address, always the same object. */
  phone(address: string): Phone {
    const known = this.#phones.get(address);
    if (known !== undefined) return known;
    const phone = new Phone(address, this.#world);
    this.#phones.set(address, phone);
    return phone;
  }

  /** Creates a conversation as left by earlier messages with an address; returns its guid. */
  knows(address: string, service: "iMessage" | "SMS" = "iMessage"): string {
    return this.#inside.db.direct(address, service).guid;
  }

  /** Starts a fault and returns the function that lifts it. `times`: the count of a fault that ends by itself (default 1). */
  fault(fault: Fault, { times = 1 }: { times?: number } = {}): () => void {
    this.#inside.faults.set(fault, FAULTS[fault] === "lasts" ? Number.POSITIVE_INFINITY : times);
    if (fault === "unreachable") this.#shut();
    return () => this.lift(fault);
  }

  /**
   * Ends a fault. A Mac that wakes executes the requests that it had read, even if their clients have gone, and emits no event
   * for messages that arrived in the meantime. A Mac that is reachable again has just started its server: `hello-world`.
   */
  lift(fault: Fault): void {
    const { faults, events, db } = this.#inside;
    if (!faults.has(fault)) return;
    faults.lift(fault);
    if (fault === "asleep") for (const wake of this.#asleep.splice(0)) wake();
    if (fault === "answersHeld") for (const answer of this.#answers.splice(0)) answer();
    if (fault === "eventsReversed") events.release();
    if (fault === "unreachable") {
      events.seed(db.messages);
      this.#listening = this.listen().then(() => events.emit("hello-world", null));
    }
  }

  /** Drops the requests that a sleeping Mac has not executed, and cuts their connections. */
  forgetHeld(): void {
    this.#asleep = [];
    for (const socket of this.#connections) socket.destroy();
  }

  /** Advances the Mac's own clock. A given clock is advanced by its owner. */
  async advance(ms: number): Promise<void> {
    if (this.#own === null) throw new Error("this Mac goes by the clock it was given");
    await this.#own.advance(ms);
  }

  /**
   * Resolves when no request, webhook or socket byte has been in flight for some turns of the event loop.
   * Requests that hang, forever or until the clock advances, do not count.
   */
  async idle(): Promise<void> {
    let octets = this.#octets();
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      await turn();
      const before = octets;
      octets = this.#octets();
      if (this.#open > 0 || this.#inside.events.open > 0 || octets !== before) quiet = 0;
    }
  }

  /** Sends a message that the Mac's owner writes in Messages, to an address or a group; returns the guid. */
  writesByHand(to: string | ChatRow, text: string | null, files: readonly File[] = []): string {
    const chat = typeof to === "string" ? this.#inside.db.direct(to, "iMessage") : to;
    const { link, ...attached } = attach(this.#world, files);
    const row = this.#outbox.byHand({ chat, text, ...attached });
    link(row);
    return row.guid;
  }

  /** Makes BlueBubbles fail every query of a message, or ends that. */
  breaksAt(guid: string, isBroken = true): void {
    for (const row of this.messages) if (row.guid === guid) row.isBroken = isBroken;
  }

  /** Repeats the last event. */
  repeats(): void {
    this.#inside.events.again();
  }

  /** Resolves when a Mac that is reachable again listens. */
  async ready(): Promise<void> {
    await this.#listening;
  }

  async listen(): Promise<void> {
    if (this.#port === 0) this.#port = await freePort();
    await new Promise<void>((resolve) => this.#http.listen(this.#port, "127.0.0.1", resolve));
  }

  async stop(): Promise<void> {
    this.#shut();
    await this.#sockets.close();
  }

  #octets(): number {
    let octets = this.#connections.size;
    for (const { bytesRead, bytesWritten } of this.#connections) octets += bytesRead + bytesWritten;
    return octets;
  }

  #shut(): void {
    this.#http.close();
    for (const socket of this.#connections) socket.destroy();
  }

  #emit(type: string, data: unknown): number {
    this.#sockets.emit(type, data);
    return this.socketCount;
  }

  async #door(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const body = await read(request);
    if (body === null) return;
    this.requests.push(`${request.method} ${url.pathname}`);
    if (this.#inside.faults.has("asleep")) await new Promise<void>((resolve) => this.#asleep.push(resolve));
    this.#open += 1;
    const answering = this.#answer(request, url, body);
    // Requests that hang, forever or until the clock advances, do not count for `idle`.
    await Promise.race([answering, patience()]);
    this.#open -= 1;
    const answer = await answering;
    if (this.#inside.faults.has("answersHeld")) await new Promise<void>((resolve) => this.#answers.push(resolve));
    if (this.#inside.faults.has("asleep")) await new Promise<void>((resolve) => this.#asleep.push(resolve));
    if (answer === "hangup") request.socket.destroy();
    else if (!response.destroyed) write(response, answer);
  }

  async #answer(request: IncomingMessage, url: URL, body: Buffer): Promise<Answer | FileBody | "hangup"> {
    try {
      return await this.#route(request, url, body);
    } catch (error) {
      if (error instanceof Hangup) return "hangup";
      if (error instanceof Refusal) return { status: error.status, body: error.body };
      const refusal = unhandled(error instanceof Error ? error.message : String(error));
      return { status: refusal.status, body: refusal.body };
    }
  }

  async #route(request: IncomingMessage, url: URL, body: Buffer): Promise<Answer | FileBody> {
    if (url.pathname === "/") return { status: 200, body: "BlueBubbles Server" };
    const matches = ROUTES.flatMap((route) => {
      const params = match(route.path, url.pathname);
      return params === null ? [] : [{ route, params }];
    });
    if (matches.length === 0) return { status: 404, body: "Not Found" };
    const found = matches.find(({ route }) => route.method === request.method);
    if (found === undefined) return { status: 405, body: "Method Not Allowed" };
    this.#authenticate(url.searchParams);
    if (this.#inside.faults.hits("serverError")) throw unhandled("SQLITE_BUSY: database is locked");
    const parsed = await parse(body, request.headers["content-type"] ?? "");
    const answer = await found.route.handle(this.#inside, { params: found.params, query: url.searchParams, ...parsed });
    return answer ?? { status: 200, body: "" };
  }

  #authenticate(query: URLSearchParams): void {
    const given = query.get("guid") ?? query.get("password") ?? query.get("token");
    if (given === null || given === "") throw unauthorized("Missing server password!");
    if (given.trim() !== this.password.trim()) throw unauthorized("Unauthorized");
  }
}

/** Long enough for every request that does not hang. */
async function patience(): Promise<void> {
  for (let turns = 0; turns < 2 * QUIET_TURNS; turns += 1) await turn();
}

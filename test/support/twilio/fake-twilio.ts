/** A small Twilio on loopback: accepts messages, calls back like Twilio, and fails on a test's command. */

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { getExpectedTwilioSignature } from "twilio/lib/webhooks/webhooks.js";
import { type Clock, systemClock } from "../../../server/clock.ts";
import {
  type Behaviour,
  type Called,
  callbackOf,
  type FakeFile,
  type FakeMessage,
  isAskedFor,
  mediaOf,
  mediaPathOf,
  resourceOf,
} from "./fake-message.ts";
import { answer, type Listening, listen, readText, refuse } from "./loopback.ts";

interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  form: URLSearchParams;
}

const ROOT = "/2010-04-01/Accounts";
const CALL_RETRY_MS = 30;
/** How long Twilio waits for the response to a request to the hook (connection overrides, `rt`). */
const CALL_MS = 15_000;
/** Turns of the event loop without activity that count as idle, and the most to wait for that. */
const QUIET_TURNS = 30;
const TURNS_MAX = 600;

export class FakeTwilio {
  readonly accountSid = `AC${"0123456789abcdef".repeat(2)}`;
  readonly authToken = "0123456789abcdef0123456789abcdef";
  readonly messages: FakeMessage[] = [];
  readonly asked: Asked[] = [];
  readonly called: Called[] = [];
  /** By recipient. */
  readonly behaviours = new Map<string, Behaviour>();
  /** Files by the last segment of their address, and the headers of requests for them at the other host. */
  readonly files = new Map<string, Buffer>();
  readonly fileHeaders: IncomingMessage["headers"][] = [];
  accountStatus = "active";
  /** The response to everything; null: as usual. */
  everything: { status: number; body: string } | null = null;
  /** The response to requests for a list of messages or files; null: as usual. */
  onList: (path: string, query: URLSearchParams) => { status: number; body: string; headers?: object } | null = () =>
    null;
  /** How often a request that was not answered with 2xx is repeated. */
  callRetries = 0;
  pageSizeMax = 1_000;
  clock: Clock = systemClock();
  /** The time of its clock. */
  now = () => this.clock.real();
  readonly #refused = new Map<string, number>();
  readonly #waits = new Set<() => void>();
  /** Open requests in both directions. */
  #open = 0;
  #api: Listening | null = null;
  #files: Listening | null = null;
  #isStopped = false;

  async start(): Promise<this> {
    this.#api = await listen((request, response) => this.#during(() => this.#serve(request, response)));
    this.#files = await listen((request, response) => this.#serveFile(request, response));
    return this;
  }

  get url(): string {
    return this.#api?.url ?? "";
  }

  /** The address of a file of `files` that needs no credentials. */
  urlOf(file: string): string {
    return `${this.#files?.url}/${file}`;
  }

  get config(): Record<string, unknown> {
    return { accountSid: this.accountSid, authToken: this.authToken, baseUrl: this.url };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const end of [...this.#waits]) end();
    await this.#api?.close();
    await this.#files?.close();
  }

  /** Resolves when the event loop was idle for a while. Requests that hang are not waited for. */
  async idle(): Promise<void> {
    for (let quiet = 0, turns = 0; quiet < QUIET_TURNS && turns < TURNS_MAX; quiet += 1, turns += 1) {
      await turn();
      if (this.#open > 0) quiet = 0;
    }
  }

  /** Closes the API only: its connections are refused until `open`. */
  async shut(): Promise<void> {
    await this.#api?.close();
  }

  async open(): Promise<void> {
    await this.#api?.reopen();
  }

  /** How often messages between these numbers were accepted. */
  taken({ from, to, body }: { from?: string; to: string; body?: string }): FakeMessage[] {
    return this.messages.filter(
      (one) =>
        one.direction === "outbound-api" &&
        one.to === to &&
        (from === undefined || one.from === from) &&
        (body === undefined || one.body === body),
    );
  }

  /** A contact writes, and Twilio calls no hook: it could not, or it called another tool's. */
  arrive(
    given: { from: string; to: string; body?: string; media?: readonly FakeFile[] } & Partial<
      Pick<FakeMessage, "status" | "createdAt">
    >,
  ) {
    const { body = "", media = [], ...more } = given;
    return this.#keep({ direction: "inbound", status: "received", ...more, body, files: media });
  }

  /** A contact writes: calls the hook, and resolves with its response. */
  async write(
    hook: string,
    given: { from: string; to: string; body?: string; media?: readonly FakeFile[]; more?: object },
  ): Promise<Called> {
    const { more, ...written } = given;
    return this.deliver(hook, this.arrive(written), more);
  }

  /** Calls the hook with an earlier message. */
  async deliver(hook: string, message: FakeMessage, more: object = {}): Promise<Called> {
    const { from, to, body, files } = message;
    const media = files.flatMap(({ url, type }, index) => [
      [`MediaUrl${index}`, url],
      [`MediaContentType${index}`, type],
    ]);
    return this.call(hook, {
      ToCountry: "US",
      SmsMessageSid: message.sid,
      NumMedia: String(files.length),
      SmsSid: message.sid,
      SmsStatus: "received",
      Body: body,
      To: to,
      NumSegments: "1",
      MessageSid: message.sid,
      AccountSid: this.accountSid,
      From: from,
      ApiVersion: "2010-04-01",
      ...Object.fromEntries(media),
      ...more,
    });
  }

  /** Makes one signed request; `signature` replaces the right one. */
  async call(url: string, parameters: Record<string, string>, signature?: string): Promise<Called> {
    const signed = signature ?? getExpectedTwilioSignature(this.authToken, url, parameters);
    const called: Called = { url, parameters, status: null, type: null, body: "" };
    this.called.push(called);
    const late = new AbortController();
    const stopTimer = this.clock.after(CALL_MS, () => late.abort());
    this.#open += 1;
    try {
      const response = await fetch(url.replace(/#.*/, ""), {
        method: "POST",
        headers: {
          "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
          "x-twilio-signature": signed,
          "i-twilio-idempotency-token": randomBytes(16).toString("hex"),
        },
        body: new URLSearchParams(parameters).toString(),
        signal: late.signal,
      });
      called.body = await response.text();
      called.type = response.headers.get("content-type");
      called.status = response.status;
    } catch {
      // The connection failed: the request is over.
    } finally {
      this.#open -= 1;
      stopTimer();
    }
    return called;
  }

  /** The parameters of a status callback. */
  callback(message: FakeMessage): Record<string, string> {
    return callbackOf(message, this.accountSid);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams: query } = new URL(request.url ?? "", "http://fake");
    const form = new URLSearchParams(await readText(request));
    const { method = "" } = request;
    response.setHeader("date", new Date(this.now()).toUTCString());
    this.asked.push({ method, path, query, form });
    if (this.everything !== null) return void response.writeHead(this.everything.status).end(this.everything.body);
    const own = `Basic ${Buffer.from(`${this.accountSid}:${this.authToken}`).toString("base64")}`;
    if (request.headers.authorization !== own) return refuse(response, 401, 20003, "Authenticate");
    const account = `${ROOT}/${this.accountSid}`;
    if (path === `${account}.json`) {
      return answer(response, 200, { sid: this.accountSid, friendly_name: "Test", status: this.accountStatus });
    }
    if (path === `${account}/Messages.json` && method === "POST") return this.#take(form, response);
    const odd = this.onList(path, query);
    if (odd !== null) return void response.writeHead(odd.status, { ...odd.headers }).end(odd.body);
    if (path === `${account}/Messages.json`) return this.#list(query, response);
    const owner = this.messages.find((one) => !one.isDeleted && mediaPathOf(one, this.accountSid) === path);
    if (owner !== undefined) return answer(response, 200, mediaOf(owner, this.accountSid));
    const [, sid] = new RegExp(`^${account}/Messages/([A-Z0-9]+)\\.json$`, "i").exec(path) ?? [];
    const message = this.messages.find((one) => one.sid === sid && !one.isDeleted);
    if (message !== undefined) return answer(response, 200, resourceOf(message, this.accountSid));
    const file = /\/Media\/([^/]+)$/.exec(path)?.[1];
    if (file !== undefined && this.files.has(file)) {
      return void response.writeHead(307, { location: this.urlOf(file) }).end();
    }
    refuse(response, 404, 20404, `The requested resource ${path} was not found`);
  }

  #serveFile({ url = "", headers }: IncomingMessage, response: ServerResponse): void {
    this.fileHeaders.push(headers);
    const bytes = this.files.get(url.slice(1));
    if (bytes === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
  }

  async #take(form: URLSearchParams, response: ServerResponse): Promise<void> {
    const to = form.get("To") ?? "";
    if (to === "") return refuse(response, 400, 21604, "A 'To' phone number is required.");
    if (!form.has("From") && !form.has("MessagingServiceSid")) return refuse(response, 400, 21603, "No 'From'.");
    if (!form.has("Body") && !form.has("MediaUrl")) return refuse(response, 400, 21602, "Message body is required.");
    const behaviour = this.behaviours.get(to) ?? {};
    const refused = this.#refused.get(to) ?? 0;
    if (behaviour.refuse !== undefined && refused < (behaviour.refuse.times ?? Number.POSITIVE_INFINITY)) {
      this.#refused.set(to, refused + 1);
      const { status, body, headers } = behaviour.refuse;
      if (typeof body === "string") return void response.writeHead(status, { ...headers }).end(body);
      return refuse(response, status, body.code, body.message, headers);
    }
    if (behaviour.slowMs !== undefined) {
      this.#open -= 1;
      await this.#wait(behaviour.slowMs);
      this.#open += 1;
    }
    if (response.destroyed && behaviour.answer === undefined) return;
    const message = behaviour.takes === false ? null : this.#keepTaken(form);
    if (message !== null) void this.#proceed(message, behaviour);
    switch (behaviour.answer) {
      case "never":
        return;
      case "lost":
        return void response.socket?.destroy();
      case "error":
        return refuse(response, 500, 20500, "An internal server error has occurred");
      case "nameless":
        return answer(response, 201, {});
      case "garbage":
        return void response.writeHead(201).end("<html>");
      default:
        if (message !== null) answer(response, 201, resourceOf(message, this.accountSid));
    }
  }

  #keepTaken(form: URLSearchParams): FakeMessage {
    const messagingServiceSid = form.get("MessagingServiceSid");
    return this.#keep({
      from: form.get("From") ?? "",
      to: form.get("To") ?? "",
      body: form.get("Body") ?? "",
      media: form.getAll("MediaUrl"),
      direction: "outbound-api",
      status: messagingServiceSid === null ? "queued" : "accepted",
      statusCallback: form.get("StatusCallback"),
      messagingServiceSid,
    });
  }

  #keep(given: Pick<FakeMessage, "from" | "to" | "body" | "direction" | "status"> & Partial<FakeMessage>): FakeMessage {
    const { media = [], files = [] } = given;
    const message: FakeMessage = {
      sid: `${media.length + files.length > 0 ? "MM" : "SM"}${randomBytes(16).toString("hex")}`,
      media,
      files,
      errorCode: null,
      statusCallback: null,
      messagingServiceSid: null,
      createdAt: this.now(),
      isDeleted: false,
      ...given,
    };
    this.messages.push(message);
    return message;
  }

  async #proceed(message: FakeMessage, { statuses, callbacks = true, stepMs = 1 }: Behaviour): Promise<void> {
    let calls = Promise.resolve();
    for (const step of statuses ?? ["sent", "delivered"]) {
      await this.#wait(stepMs);
      if (this.#isStopped) return;
      message.status = typeof step === "string" ? step : step.status;
      message.errorCode = typeof step === "string" ? null : step.errorCode;
      const { statusCallback } = message;
      if (statusCallback === null || callbacks === false) continue;
      const parameters = this.callback(message);
      const call = () => this.#callUntil(statusCallback, parameters);
      if (callbacks === "atOnce") void call();
      else calls = calls.then(call);
    }
  }

  async #callUntil(url: string, parameters: Record<string, string>): Promise<void> {
    for (let retries = 0; retries <= this.callRetries && !this.#isStopped; retries += 1) {
      const { status } = await this.call(url, parameters);
      if (status !== null && status < 300) return;
      await this.#wait(CALL_RETRY_MS);
    }
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const size = Math.min(Number(query.get("PageSize") ?? 50), this.pageSizeMax);
    const page = Number(query.get("Page") ?? 0);
    const asked = this.messages.filter((one) => isAskedFor(one, query));
    // Newest first; within a second, the last one first.
    const found = asked.toReversed().sort((a, b) => Math.floor(b.createdAt / 1_000) - Math.floor(a.createdAt / 1_000));
    const next = new URLSearchParams(query);
    next.set("Page", String(page + 1));
    answer(response, 200, {
      messages: found.slice(page * size, (page + 1) * size).map((one) => resourceOf(one, this.accountSid)),
      page,
      page_size: size,
      next_page_uri: found.length > (page + 1) * size ? `${ROOT}/${this.accountSid}/Messages.json?${next}` : null,
    });
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        stopTimer();
        this.#waits.delete(end);
        resolve();
      };
      const stopTimer = this.clock.after(ms, end);
      this.#waits.add(end);
    });
  }

  async #during(work: () => Promise<void>): Promise<void> {
    this.#open += 1;
    try {
      await work();
    } finally {
      this.#open -= 1;
    }
  }
}

/** Sends a load through a fake carrier that outlives the service, and checks that no message was sent twice or lost. */

import assert from "node:assert/strict";
import type { Message } from "../../sdk/wire.ts";
import { type NextUrl, nextUrl } from "./load.ts";
import { ADMIN_KEY, allPages, ask, type Running } from "./process.ts";
import type { Behaviour } from "./twilio/fake-message.ts";
import type { FakeTwilio } from "./twilio/fake-twilio.ts";
import { until } from "./wait.ts";

const OWN = "+15550000001";
/** How each recipient's carrier behaves: at once, late, or with a response that is lost. */
const RECIPIENTS: Readonly<Record<string, Behaviour>> = {
  "+15550100001": {},
  "+15550100002": { slowMs: 30 },
  "+15550100003": { slowMs: 100 },
  "+15550100004": { answer: "lost" },
};
const QUIET_MS_MAX = 180_000;

interface CarrierOrder {
  text: string;
  to: string;
  /** The acknowledged id; null until there is a response. */
  id: string | null;
}

/** Sends messages of its own customer until it is stopped, to one process after another. */
export class CarrierLoad {
  readonly #fake: FakeTwilio;
  readonly #pauseMs: () => number;
  readonly #repeatUnavailable: boolean;
  readonly #orders: CarrierOrder[] = [];
  readonly #again: CarrierOrder[] = [];
  #key = "";
  #worker: Promise<void> = Promise.resolve();
  #stopped = true;

  /** With `repeatUnavailable` a 503 is no response: the request is repeated. */
  constructor(fake: FakeTwilio, pauseMs: () => number, { repeatUnavailable = false } = {}) {
    this.#repeatUnavailable = repeatUnavailable;
    this.#fake = fake;
    this.#pauseMs = pauseMs;
    for (const [to, behaviour] of Object.entries(RECIPIENTS)) fake.behaviours.set(to, behaviour);
  }

  /** Creates the customer, its instance and its number. */
  async configure(service: Running): Promise<void> {
    const admin = async (path: string, body: unknown) => {
      const made = await service.ask("POST", `/v1/admin${path}`, body, ADMIN_KEY);
      assert.ok(made.status < 300, made.text);
      return made.data;
    };
    const instance = await admin("/instances", { name: "Carrier", provider: "twilio", config: this.#fake.config });
    const customer = await admin("/customers", { name: "Of the carrier" });
    const number = { phoneNumber: OWN, provider: "twilio", instanceId: instance.id };
    await admin(`/customers/${customer.id}/numbers`, number);
    this.#key = (await admin("/keys", { name: "key", customerId: customer.id })).key;
  }

  /** Starts sending to `url`, requests without a response first. */
  start(url: NextUrl): void {
    this.#stopped = false;
    this.#worker = this.#work(url);
  }

  /** Stops sending, and resolves when each request got a response or failed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#worker;
  }

  /** Compares the carrier with the service: the carrier received each of the service's messages once, and no other. */
  async check(service: Running): Promise<number> {
    for (let order = this.#again.shift(); order !== undefined; order = this.#again.shift())
      await this.#send(service.url, order);
    const messages = await this.#readWhenQuiet(service);
    const acknowledged = this.#orders.map(({ id }) => id);
    assert.deepEqual(messages.map(({ id }) => id).sort(), acknowledged.sort());
    const received = this.#fake.messages.filter(({ direction }) => direction === "outbound-api");
    const shown = (one: Message) => `${one.id} ${one.to} ${JSON.stringify(one.timeline)}`;
    for (const message of messages) {
      const times = received.filter(({ body }) => body === message.content.text).length;
      assert.equal(times, 1, `the carrier received it ${times} times: ${shown(message)}`);
      assert.ok(["sent", "delivered"].includes(message.status), shown(message));
    }
    assert.equal(received.length, messages.length);
    return messages.length;
  }

  async #readWhenQuiet(service: Running): Promise<Message[]> {
    const own = { ask: (method: string, path: string) => service.ask(method, path, undefined, this.#key) };
    let messages: Message[] = [];
    const areQuiet = async () => {
      // One read of each message: between two reads by status a message could go from one status to the other.
      messages = (await allPages<Message>(own, "/v1/messages", "messages")).flatMap(({ items }) => items);
      return messages.every(({ status }) => status !== "queued" && status !== "pending");
    };
    await until(areQuiet, { limitMs: QUIET_MS_MAX, what: "the end of every message to the carrier" });
    return messages;
  }

  async #work(url: NextUrl): Promise<void> {
    while (!this.#stopped) {
      await this.#send(nextUrl(url), this.#again.shift() ?? this.#order());
      // The load's own pace, not a wait for anything.
      await new Promise((resolve) => setTimeout(resolve, this.#pauseMs()));
    }
  }

  #order(): CarrierOrder {
    const number = this.#orders.length;
    const recipients = Object.keys(RECIPIENTS);
    const order = { text: `order ${number} to a carrier`, to: recipients[number % recipients.length] ?? "", id: null };
    this.#orders.push(order);
    return order;
  }

  async #send(url: string, order: CarrierOrder): Promise<void> {
    const { text, to } = order;
    const body = { to, content: { text }, idempotencyKey: text };
    const answer = await ask(url, this.#key, "POST", "/v1/messages", body).catch(() => null);
    if (answer === null || (this.#repeatUnavailable && answer.status === 503)) {
      this.#again.push(order);
      return;
    }
    assert.ok(answer.status === 202 || answer.status === 200, answer.text);
    order.id = answer.data.id;
  }
}

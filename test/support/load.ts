/** A load of messages with a log of its acknowledgements, which an oracle compares with the service. */

import type { AcceptedMessage } from "../../sdk/wire.ts";
import { type Answered, ask, KEY } from "./process.ts";

/** A request with one idempotency key, and the service's responses so far. */
export interface Order {
  /** Also the `externalMessageId`, by which the message is found whether or not it was acknowledged. */
  name: string;
  body: { to: string; content: { text: string }; scheduledAt?: string; callbackUrl?: string; metadata: object };
  scheduledAt: number | null;
  /** The acknowledged id: of the 202, or of a 200 if the 202 never arrived. */
  id: string | null;
  /** A 202 came: there may be no other. */
  created: boolean;
  /** Responses that a repeat of the same request must not get. */
  wrong: string[];
  /** The request was refused because its time has passed: its message must not exist. */
  refused: boolean;
  /** `asked`: it is to be cancelled. `cancelled`: that was acknowledged. `late`: it was not scheduled any more. */
  cancelling: "no" | "asked" | "cancelled" | "late";
  /** A cancellation got no response: it may have taken effect. */
  cancelUnanswered: boolean;
}

/** The address of the process that gets the next request. */
export type NextUrl = string | (() => string);

export function nextUrl(url: NextUrl): string {
  return typeof url === "string" ? url : url();
}

/** How a load is made. */
export interface LoadPlan {
  chance: () => number;
  recipients: readonly string[];
  callbackUrl: string;
  /** Requests at once. */
  workers: number;
  /** A worker waits up to this long after each request. */
  pauseMs: number;
  /** A 503 is no response: the request is repeated, as clients of several processes do. */
  repeatUnavailable?: boolean;
}

/** How far ahead half of the messages are scheduled that are to be cancelled, so that a slow machine is not too late. */
const FAR_MS = 600_000;

/** Sends messages until it is stopped, to one process after another. */
export class Load {
  /** Every request so far. */
  readonly orders: Order[] = [];
  /** Requests that were on their way when the process died, by kind. */
  readonly unanswered = { messages: 0, cancels: 0 };
  readonly #plan: LoadPlan;
  readonly #again: Order[] = [];
  #workers: Promise<void>[] = [];
  #stopped = true;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
  }

  /** Starts sending to `url`: `burst` messages at once, and requests without a response first. */
  start(url: NextUrl, burst = 0): void {
    this.#stopped = false;
    this.#workers = [
      ...Array.from({ length: this.#plan.workers }, () => this.#work(url)),
      ...Array.from({ length: burst }, () => this.#send(nextUrl(url), this.#order())),
    ];
  }

  /** Stops sending, and resolves when each request got a response or failed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers);
  }

  /** Asks again for what was never answered, until all of it is. */
  async settle(url: string): Promise<void> {
    for (let order = this.#again.shift(); order !== undefined; order = this.#again.shift())
      await this.#send(url, order);
    for (const order of this.orders) if (order.cancelling === "asked") await this.#cancel(url, order);
  }

  async #work(url: NextUrl): Promise<void> {
    const { chance, pauseMs } = this.#plan;
    while (!this.#stopped) {
      const repeat = chance() < 0.05 ? this.orders[Math.floor(chance() * this.orders.length)] : undefined;
      const order = this.#again.shift() ?? repeat ?? this.#order();
      await this.#send(nextUrl(url), order);
      if (order.cancelling === "asked" && order.id !== null) await this.#cancel(nextUrl(url), order);
      // The load's own pace, not a wait for anything.
      await new Promise((resolve) => setTimeout(resolve, chance() * pauseMs));
    }
  }

  #order(): Order {
    const { chance, recipients, callbackUrl } = this.#plan;
    const number = this.orders.length;
    const to = recipients[Math.floor(chance() * recipients.length)] ?? "";
    const isScheduled = chance() < 0.15;
    const isCancelled = isScheduled && chance() < 0.4;
    const aheadMs = isCancelled && chance() < 0.5 ? FAR_MS : 1_000 + Math.floor(chance() * 2_000);
    const scheduledAt = isScheduled ? Date.now() + aheadMs : null;
    const order: Order = {
      name: `order-${number}`,
      body: {
        to,
        content: { text: `Grüße 👋 an ${number}` },
        metadata: { number },
        ...(scheduledAt === null ? {} : { scheduledAt: new Date(scheduledAt).toISOString() }),
        ...(chance() < 0.2 ? { callbackUrl } : {}),
      },
      scheduledAt,
      id: null,
      created: false,
      wrong: [],
      refused: false,
      cancelling: isCancelled ? "asked" : "no",
      cancelUnanswered: false,
    };
    this.orders.push(order);
    return order;
  }

  async #send(url: string, order: Order): Promise<void> {
    const body = { ...order.body, externalMessageId: order.name, idempotencyKey: order.name };
    const answer = await this.#answered(() => ask(url, KEY, "POST", "/v1/messages", body));
    if (answer === null) {
      this.unanswered.messages += 1;
      this.#again.push(order);
      return;
    }
    if (answer.error?.code === "SCHEDULED_IN_PAST" && order.id === null) {
      order.refused = true;
      return;
    }
    if (answer.status !== 202 && answer.status !== 200) {
      order.wrong.push(`${answer.status} ${answer.text}`);
      return;
    }
    const { id } = answer.data as AcceptedMessage;
    if (order.id !== null && order.id !== id) order.wrong.push(`accepted as ${order.id} and as ${id}`);
    if (answer.status === 202 && order.created) order.wrong.push("answered 202 twice");
    order.created ||= answer.status === 202;
    order.id ??= id;
  }

  async #cancel(url: string, order: Order): Promise<void> {
    if (order.id === null) return;
    const answer = await this.#answered(() => ask(url, KEY, "DELETE", `/v1/messages/${order.id}/schedule`));
    if (answer === null) {
      this.unanswered.cancels += 1;
      order.cancelUnanswered = true;
    } else if (answer.status === 200) order.cancelling = "cancelled";
    // Two workers may cancel the same message: then one is told that it is no longer scheduled.
    else if (answer.error?.code === "NOT_SCHEDULED")
      order.cancelling = order.cancelling === "asked" ? "late" : order.cancelling;
    else order.wrong.push(`cancel: ${answer.status} ${answer.text}`);
  }

  async #answered(request: () => Promise<Answered>): Promise<Answered | null> {
    const answer = await answered(request);
    return this.#plan.repeatUnavailable === true && answer?.status === 503 ? null : answer;
  }
}

/** A payment request with one idempotency key, and the service's responses so far. */
export interface PaymentOrder {
  name: string;
  amount: number;
  id: string | null;
  /** Responses that a repeat of the same request must not get. */
  wrong: string[];
}

/**
 * Requests payments until it is stopped, from successive processes. Amounts recur, so that a payment could pay another
 * request.
 */
export class PaymentLoad {
  readonly orders: PaymentOrder[] = [];
  readonly #plan: Pick<LoadPlan, "chance" | "pauseMs"> & { to: string };
  readonly #again: PaymentOrder[] = [];
  #worker: Promise<void> = Promise.resolve();
  #stopped = true;

  constructor(plan: Pick<LoadPlan, "chance" | "pauseMs"> & { to: string }) {
    this.#plan = plan;
  }

  /** Starts requests to `url`, requests without a response first. */
  start(url: string): void {
    this.#stopped = false;
    this.#worker = this.#work(url);
  }

  /** Stops requesting, and resolves when each request got a response or failed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#worker;
  }

  /** Asks again for what was never answered, until all of it is. */
  async settle(url: string): Promise<void> {
    for (let order = this.#again.shift(); order !== undefined; order = this.#again.shift()) await this.#ask(url, order);
  }

  async #work(url: string): Promise<void> {
    const { chance, pauseMs } = this.#plan;
    while (!this.#stopped) {
      await this.#ask(url, this.#again.shift() ?? this.#order());
      // The load's own pace, not a wait for anything.
      await new Promise((resolve) => setTimeout(resolve, chance() * pauseMs));
    }
  }

  #order(): PaymentOrder {
    const order = {
      name: `payment-${this.orders.length}`,
      amount: 1 + Math.floor(this.#plan.chance() * 3),
      id: null,
      wrong: [],
    };
    this.orders.push(order);
    return order;
  }

  async #ask(url: string, order: PaymentOrder): Promise<void> {
    const { name: idempotencyKey, amount } = order;
    const body = { to: this.#plan.to, amount, idempotencyKey };
    const answer = await answered(() => ask(url, KEY, "POST", "/v1/payments/request", body));
    if (answer === null) {
      this.#again.push(order);
      return;
    }
    if (answer.status !== 202 && answer.status !== 200) order.wrong.push(`${answer.status} ${answer.text}`);
    const id = answer.data?.id ?? null;
    if (order.id !== null && order.id !== id) order.wrong.push(`accepted as ${order.id} and as ${id}`);
    order.id ??= id;
  }
}

/** A response; null if the process ended before it. */
async function answered<Answer>(request: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await request();
  } catch {
    return null;
  }
}

/** Numbers in [0, 1) that a 32-bit seed decides (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

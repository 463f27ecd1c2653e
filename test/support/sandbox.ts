/** A service with a sandbox: requests to it, and the exact events that they cause. */

import assert from "node:assert/strict";
import { type Answered, startTestService, type TestService } from "./service.ts";
import { until } from "./wait.ts";

/** An event of the list. */
export interface SandboxEvent {
  id: string;
  type: string;
  timestamp: string;
  // biome-ignore lint/suspicious/noExplicitAny: events are read field by field, and a test fails on what is not there.
  data: any;
}

/** Data of a response. */
export type Data = Answered["data"];

/** The sandbox's number with this ending. */
export function number(last4: string): string {
  return `+1500555${last4}`;
}

/** Path of the phone with that number. */
export function phone(last4: string): string {
  return `/v1/sandbox/phones/${number(last4)}`;
}

/** A service, and short ways to ask it. Started by `start`, stopped by the test. */
export class SandboxStage {
  readonly api: TestService;

  private constructor(api: TestService) {
    this.api = api;
  }

  static async start(env: Record<string, string> = {}): Promise<SandboxStage> {
    const stage = new SandboxStage(await startTestService(env));
    const { id } = await stage.send("0100");
    await stage.reached(id, "delivered");
    return stage;
  }

  /** Data of a response; anything but success fails the test. */
  async data(method: string, path: string, body?: unknown, key = this.api.key): Promise<Data> {
    const answer = await this.api.ask(method, path, { key, ...(body === undefined ? {} : { body }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.error)}`);
    return answer.data;
  }

  /** Sends a request that must fail with this status and code; returns the message. */
  async refused(method: string, path: string, body: unknown, status: number, code: string): Promise<string> {
    const { status: answered, error } = await this.api.ask(method, path, { body });
    assert.deepEqual([answered, error?.code], [status, code]);
    return error?.message ?? "";
  }

  send(last4: string, more: object = {}): Promise<Data> {
    return this.data("POST", "/v1/messages", { to: number(last4), content: { text: "Hello" }, ...more });
  }

  /** The message, once it has this status. */
  async reached(id: string, status: string): Promise<Data> {
    const message = async () => {
      const record = await this.data("GET", `/v1/messages/${id}`);
      return record.status === status && record;
    };
    return await until(message, { what: `${id} being ${status}` });
  }

  /** Deletes the message, and waits until its text is out of its events. */
  async deleted(id: string): Promise<void> {
    await this.data("DELETE", `/v1/messages/${id}`);
    const isErased = async () => {
      const { events } = await this.data("GET", `/v1/events?messageId=${id}`);
      return events.every(({ data }: SandboxEvent) => data.text === null);
    };
    await until(isErased, { what: `${id} being erased` });
  }

  /** The id of the newest event. */
  async newest(): Promise<string> {
    return (await this.data("GET", "/v1/events?limit=1")).events[0].id;
  }

  /** Up to 100 events after this one, in order. */
  async eventsAfter(id: string): Promise<SandboxEvent[]> {
    return (await this.data("GET", `/v1/events?limit=100&after=${id}`)).events;
  }

  /** Returns the events after `begin`, once they are exactly `types` (without `message.`) and nothing follows. */
  async emits(begin: () => Promise<unknown>, types: readonly string[]): Promise<SandboxEvent[]> {
    const from = await this.newest();
    await begin();
    let emitted: SandboxEvent[] = [];
    const enough = async () => {
      emitted = await this.eventsAfter(from);
      return emitted.length >= types.length;
    };
    await until(enough, { what: types.join(", ") }).catch(() => assert.deepEqual(short(emitted), types));
    // Whatever was to follow has followed when a message sent later is delivered.
    const fence = await this.send("0117");
    await this.reached(fence.id, "delivered");
    const all = (await this.eventsAfter(from)).filter((event) => event.data.messageId !== fence.id);
    assert.deepEqual(short(all), types);
    return all;
  }

  /** Asks as the administrator. */
  async admin(method: string, path: string, body: object): Promise<Data> {
    return await this.data(method, path, body, this.api.adminKey);
  }
}

function short(emitted: readonly SandboxEvent[]): string[] {
  return emitted.map(({ type }) => type.replace(/^message\./, ""));
}

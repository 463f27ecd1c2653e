/** The whole service with one BlueBubbles instance and a fake Mac, used through its API and by contacts' phones. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Store } from "../../server/store/store.ts";
import { JumpClock } from "./jump-clock.ts";
import { type Mac, type MacOptions, startMac } from "./mac/mac.ts";
import { type Asking, startTestService, type TestService } from "./service.ts";
import { until } from "./wait.ts";

/** The Mac's own address, and the customer's number. */
export const OWN = "+15005550007";

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field, and fail on what is not there.
type Data = any;

export interface MacStageOptions extends Omit<MacOptions, "clock" | "ownAddress"> {
  ingest: "webhook" | "socket";
  env?: Record<string, string>;
  onStore?: (store: Store) => void;
}

export interface MacStage {
  api: TestService;
  mac: Mac;
  clock: JumpClock;
  instanceId: string;
  /** The `data` of a response that must be a success. */
  ok(method: string, path: string, body?: unknown): Promise<Data>;
  /** Sends from the Mac's number; returns the id. */
  send(to: string, more?: Record<string, unknown>): Promise<string>;
  /** The message once it has this status. */
  reached(id: string, status: string): Promise<Data>;
  /** The first event of a type that fits, once it is there. */
  event(type: string, fits?: (data: Data) => boolean): Promise<Data>;
  /** Every event of a type, the oldest first. */
  events(type: string): Promise<Data[]>;
  /** Waits until the instance has this health. */
  health(status: string): Promise<Data>;
  /**
   * Resolves when what is under way has come as far as it can without more time: between the service and the Mac nothing
   * is on its way, and the database has done what it was given.
   */
  idle(): Promise<void>;
  /** Lets time pass in steps, each followed by `idle`. */
  pass(ms: number, stepMs: number): Promise<void>;
}

/** Round trips of an attempt between database and Mac. */
const ROUNDS = 4;

/** Starts both; resolves when the Mac is connected. Real time, in which a test may jump. The test ends them. */
export async function stageMacService(t: TestContext, { ingest, env = {}, onStore, ...options }: MacStageOptions) {
  const clock = new JumpClock();
  const mac = await startMac({ ...options, clock: clock.clock({ ms: 0 }), ownAddress: OWN });
  t.after(() => mac.stop());
  const watch = onStore === undefined ? {} : { onStore };
  const api = await startTestService(env, { clock: (shift) => clock.clock(shift), ...watch });
  t.after(() => api.stop());
  const admin = { key: api.adminKey };
  const config = { url: mac.url, password: mac.password, ingest };
  const made = await api.ask("POST", "/v1/admin/instances", {
    ...admin,
    body: { name: "Mac", provider: "bluebubbles", config },
  });
  assert.equal(made.status, 201, JSON.stringify(made.error));
  const instanceId: string = made.data.id;
  const customerId = (await api.ask("GET", "/v1/admin/customers", admin)).data.customers[0].id;
  const body = { phoneNumber: OWN, provider: "bluebubbles", instanceId };
  const number = await api.ask("POST", `/v1/admin/customers/${customerId}/numbers`, { ...admin, body });
  assert.equal(number.status, 201, JSON.stringify(number.error));
  const asDefault = `/v1/admin/customers/${customerId}/numbers/${number.data.id}/default`;
  assert.equal((await api.ask("PUT", asDefault, admin)).status, 200);
  const contact = await api.ask("POST", "/v1/contacts", { body: { email: "nobody@example.com" } });
  const stage = stageOf(api, mac, clock, { instanceId, contactId: contact.data.id });
  await stage.health("healthy");
  await until(() => (ingest === "webhook" ? mac.webhooks.length === 1 : mac.socketCount === 1), { what: "its ears" });
  return stage;
}

function stageOf(
  api: TestService,
  mac: Mac,
  clock: JumpClock,
  { instanceId, contactId }: { instanceId: string; contactId: string },
): MacStage {
  const ok = async (method: string, path: string, asking: Asking = {}): Promise<Data> => {
    const { status, data, error } = await api.ask(method, path, asking);
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(error)}`);
    return data;
  };
  const events = async (type: string): Promise<Data[]> =>
    (await ok("GET", `/v1/events?type=${type}&limit=100`)).events.reverse();
  const idle = async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await mac.idle();
      // A write comes after all earlier ones.
      await ok("PUT", `/v1/contacts/${contactId}`, { body: { company: `Round ${round}` } });
    }
  };
  return {
    api,
    mac,
    clock,
    instanceId,
    idle,
    async pass(ms, stepMs) {
      for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
        clock.jump(Math.min(stepMs, ms - passedMs));
        await idle();
      }
    },
    ok: (method, path, body) => ok(method, path, body === undefined ? {} : { body }),
    send: async (to, more = {}) => {
      const body = { to, from: OWN, content: { text: "Hello" }, ...more };
      return (await ok("POST", "/v1/messages", { body })).id;
    },
    reached: async (id, status) => {
      let last: Data = null;
      await until(
        async () => {
          last = await ok("GET", `/v1/messages/${id}`);
          return last.status === status;
        },
        { what: `${id} ${status}` },
      ).catch((error: unknown) => assert.fail(`${String(error)}: ${JSON.stringify(last)}`));
      return last;
    },
    event: (type, fits = () => true) =>
      until(async () => (await events(type)).find(({ data }) => fits(data)), { what: `an event ${type}` }),
    events,
    health: (status) =>
      until(
        async () => {
          const data = await ok("GET", `/v1/admin/instances/${instanceId}`, { key: api.adminKey });
          return data.health === status ? data : null;
        },
        { what: `the instance ${status}` },
      ),
  };
}

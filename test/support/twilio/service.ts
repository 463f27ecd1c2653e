/** The whole service with a Twilio instance, a customer, a number and a key, beside the small Twilio. */

import type { TestContext } from "node:test";
import { type Answered, startTestService, type TestService } from "../service.ts";
import { until } from "../wait.ts";
import { FakeTwilio } from "./fake-twilio.ts";

export const OWN = "+15550000001";

export interface TwilioService {
  service: TestService;
  fake: FakeTwilio;
  instanceId: string;
  hookUrl: string;
  /** The customer's key. */
  key: string;
  admin(method: string, path: string, body?: unknown): Promise<Answered>;
  ask(method: string, path: string, body?: unknown): Promise<Answered>;
  /** Sends a text and returns the message's id. */
  send(to: string, text: string, more?: object): Promise<string>;
  /** The message once it has this status. */
  becomes(id: string, status: string, limitMs?: number): Promise<Answered["data"]>;
  /** Types of the message's events, oldest first. */
  events(messageId: string): Promise<string[]>;
}

/** Starts both; the test ends them. */
export async function twilioService(t: TestContext, env: Record<string, string> = {}): Promise<TwilioService> {
  const fake = await new FakeTwilio().start();
  t.after(() => fake.stop());
  const service = await startTestService(env);
  t.after(() => service.stop());
  const admin = (method: string, path: string, body?: unknown) =>
    service.ask(method, path, { key: service.adminKey, ...(body === undefined ? {} : { body }) });
  const instance = { name: "Twilio", provider: "twilio", config: fake.config };
  const { id: instanceId, hookUrl } = (await admin("POST", "/v1/admin/instances", instance)).data;
  const { id: customerId } = (await admin("POST", "/v1/admin/customers", { name: "Customer" })).data;
  const number = { phoneNumber: OWN, provider: "twilio", instanceId };
  await admin("POST", `/v1/admin/customers/${customerId}/numbers`, number);
  const { key } = (await admin("POST", "/v1/admin/keys", { name: "key", customerId })).data;
  const ask = (method: string, path: string, body?: unknown) =>
    service.ask(method, path, { key, ...(body === undefined ? {} : { body }) });
  return {
    service,
    fake,
    instanceId,
    hookUrl,
    key,
    admin,
    ask,
    async send(to, text, more = {}) {
      const { data, error } = await ask("POST", "/v1/messages", { to, content: { text }, ...more });
      if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
      return data.id;
    },
    becomes: (id, status, limitMs = 60_000) =>
      until(
        async () => {
          const { data } = await ask("GET", `/v1/messages/${id}`);
          return data.status === status ? data : null;
        },
        { limitMs, what: `${id} to be ${status}` },
      ),
    async events(messageId) {
      const { data } = await ask("GET", `/v1/events?messageId=${messageId}`);
      return data.events.map(({ type }: { type: string }) => type).reverse();
    },
  };
}

/** A service whose first customer sends through a Twilio that records every message it gets. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { startTestService, type TestService, type TestServiceOptions } from "../service.ts";
import { FakeTwilio } from "./fake-twilio.ts";

const OWN = "+15550000001";

/** A recipient's phone number. */
export const contact = (index: number) => `+1555010${String(index).padStart(4, "0")}`;

export interface TwilioService {
  fake: FakeTwilio;
  service: TestService;
  instanceId: string;
  /** Sends a text to a contact and returns the message's id. */
  send(to: string, text: string, more?: object): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read records field by field.
  get(id: string): Promise<any>;
}

/** Starts the service with the threads of production. The test stops it. */
export async function startTwilioService(t: TestContext, options: TestServiceOptions = {}): Promise<TwilioService> {
  const fake = await new FakeTwilio().start();
  t.after(() => fake.stop());
  const service = await startTestService({}, { inThreads: true, ...options });
  t.after(() => service.stop());
  const admin = async (method: string, path: string, body?: unknown) => {
    const { status, data, error } = await service.ask(method, `/v1/admin${path}`, { key: service.adminKey, body });
    assert.ok(status < 300, JSON.stringify(error));
    return data;
  };
  const { customers } = await admin("GET", "/customers");
  const { id } = await admin("POST", "/instances", { name: "Twilio", provider: "twilio", config: fake.config });
  const number = { phoneNumber: OWN, provider: "twilio", instanceId: id };
  await admin("POST", `/customers/${customers[0].id}/numbers`, number);
  return {
    fake,
    service,
    instanceId: id,
    async send(to, text, more = {}) {
      const { status, data, error } = await service.ask("POST", "/v1/messages", {
        body: { from: OWN, to, content: { text }, ...more },
      });
      assert.equal(status, 202, JSON.stringify(error));
      return data.id;
    },
    get: async (id) => (await service.ask("GET", `/v1/messages/${id}`)).data,
  };
}

/**
 * Twilio's own description of its API as a peer, served by Prism: it refuses requests that the description does not
 * allow.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../../server/clock.ts";
import type { Outbound } from "../../server/providers/provider.ts";
import { Api, type TwilioResponse } from "../../server/providers/twilio/api.ts";
import { readAccountStatus, readMessage, readPage } from "../../server/providers/twilio/records.ts";
import { classifyResponse } from "../../server/providers/twilio/send.ts";
import { readSettings } from "../../server/providers/twilio/settings.ts";
import { createTwilio } from "../../server/providers/twilio/twilio.ts";
import { freePort } from "../support/free-port.ts";
import { outboundMessage } from "../support/outbound.ts";
import { providerContext } from "../support/provider.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { memoryIn } from "../support/twilio/stage.ts";
import { until } from "../support/wait.ts";
import { installNodePeers } from "./install.ts";

const MODULES = installNodePeers(join(import.meta.dirname, "twilio"));
const PRISM = join(MODULES, "@stoplight/prism-cli/dist/index.js");
const DESCRIPTION = join(MODULES, "@twilio/cli-core/src/services/twilio-api/twilio_api_v2010.json");
const START_MS = 60_000;
const NEVER = new AbortController().signal;

interface Prism {
  url: string;
  stop(): void;
}

/** Starts Prism: as the API itself (`mock`), or in front of another that it checks (`proxy`). */
async function startPrism(upstream: string | null): Promise<Prism> {
  const port = await freePort();
  const how = upstream === null ? ["mock", DESCRIPTION] : ["proxy", DESCRIPTION, upstream, "--errors"];
  const child: ChildProcess = spawn(process.execPath, [PRISM, ...how, "--host", "127.0.0.1", "--port", String(port)]);
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output = `${output}${chunk}`.slice(-2_000);
  });
  await until(() => output.includes("Prism is listening"), { limitMs: START_MS, what: "the start of Prism" });
  return { url: `http://127.0.0.1:${port}`, stop: () => void child.kill("SIGKILL") };
}

function providerAt(url: string, { accountSid, authToken }: FakeTwilio, more: object = {}) {
  const config = { accountSid, authToken, baseUrl: url, ...more };
  return createTwilio(providerContext({ clock: systemClock(), memory: memoryIn(new Map()), config }));
}

function message(more: Partial<Outbound> = {}): Outbound {
  const messageId = "msg_00000000-0000-7000-8000-000000000001";
  return outboundMessage({ messageId, to: "+15550100001", channel: "sms", attemptedAt: 1, ...more });
}

describe("Twilio's description of its API", () => {
  const fake = new FakeTwilio();
  let mock: Prism;
  let proxy: Prism;
  before(async () => {
    await fake.start();
    [mock, proxy] = await Promise.all([startPrism(null), startPrism(fake.url)]);
  });
  after(async () => {
    mock.stop();
    proxy.stop();
    await fake.stop();
  });

  // Files are left to the official client, whose form ours is compared with: Prism takes no repeated field for a list.
  test("allows what we send, from a number and over a service", async (t) => {
    for (const more of [{}, { messagingServiceSid: `MG${"0".repeat(32)}` }]) {
      const provider = providerAt(mock.url, fake, more);
      t.after(() => provider.stop());
      const outcome = await provider.send(message(), NEVER);
      assert.ok(outcome.outcome === "accepted", JSON.stringify(outcome));
      assert.match(outcome.reference, /^SM/);
      assert.equal(outcome.segments, 1);
    }
  });

  test("refuses a message to nobody, and one without credentials", async (t) => {
    const settings = readSettings({ ...fake.config, baseUrl: mock.url });
    const api = new Api(settings, systemClock(), 1);
    t.after(() => api.close());
    const path = `/2010-04-01/Accounts/${fake.accountSid}/Messages.json`;
    const ask = async (form: Record<string, string>, isForeign: boolean) => {
      const answer = await api.request({ method: "POST", path, form: new URLSearchParams(form), isForeign });
      assert.ok(!("noResponse" in answer));
      return [answer.status, classifyResponse(answer, 0).verdict];
    };
    assert.deepEqual(await ask({ From: "+1", Body: "Hi" }, false), [422, "down"]);
    assert.deepEqual(await ask({ To: "+1", From: "+1", Body: "Hi" }, true), [401, "down"]);
    assert.deepEqual(await ask({ To: "+1", From: "+1", Body: "Hi", ValidityPeriod: "x" }, false), [422, "down"]);
  });

  test("has examples of accounts, messages and lists, and all of them are read", async (t) => {
    const api = new Api(readSettings({ ...fake.config, baseUrl: mock.url }), systemClock(), 1);
    t.after(() => api.close());
    const get = async (path: string): Promise<TwilioResponse> => {
      const answer = await api.request({ method: "GET", path: `/2010-04-01/Accounts/${fake.accountSid}${path}` });
      assert.ok(!("noResponse" in answer) && answer.status === 200, JSON.stringify(answer));
      return answer;
    };
    assert.equal(readAccountStatus((await get(".json")).body), "active");
    const one = readMessage((await get(`/Messages/SM${"0".repeat(32)}.json`)).body);
    assert.deepEqual([one?.status, one?.errorCode, one?.isOutbound], ["sent", 30_007, true]);
    assert.ok(one?.createdAt !== null);
    const page = readPage((await get("/Messages.json?To=%2B15550100001&From=%2B1&PageSize=1000")).body);
    assert.ok(page !== null && page.messages.length > 0);
    assert.match(page.next ?? "", /^\/2010-04-01\/.*PageToken=/);
  });

  test("allows what the small Twilio of our tests answers", async (t) => {
    const provider = providerAt(proxy.url, fake);
    t.after(() => provider.stop());
    fake.behaviours.set("+15550100002", { statuses: [{ status: "undelivered", errorCode: 30_003 }] });
    fake.behaviours.set("+15550100003", { answer: "error" });
    for (const to of ["+15550100001", "+15550100002"]) {
      const outcome = await provider.send(message({ to }), NEVER);
      assert.ok(outcome.outcome === "accepted", JSON.stringify(outcome));
    }
    assert.equal((await provider.health()).status, "healthy");
    const lost = message({ to: "+15550100003" });
    assert.equal((await provider.send(lost, NEVER)).outcome, "unknown");
    const settled = await provider.reconcile?.(lost);
    assert.ok(settled !== "absent" && settled?.outcome === "accepted", JSON.stringify(settled));
    const api = new Api(readSettings({ ...fake.config, baseUrl: proxy.url }), systemClock(), 1);
    t.after(() => api.close());
    for (const { sid } of fake.messages) {
      const answer = await api.request({
        method: "GET",
        path: `/2010-04-01/Accounts/${fake.accountSid}/Messages/${sid}.json`,
      });
      assert.ok(
        !("noResponse" in answer) && answer.status === 200,
        "noResponse" in answer ? answer.reason : String(answer.body),
      );
    }
  });
});

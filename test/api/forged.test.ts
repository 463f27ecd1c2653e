/** A thousand forged callbacks against the whole service: each is refused, and has no visible effect. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { getExpectedTwilioSignature } from "twilio/lib/webhooks/webhooks.js";
import { OWN, type TwilioService, twilioService } from "../support/twilio/service.ts";

const TO = "+15550100001";
const VARIANTS = 1_000;

interface Request {
  url: string;
  parameters: [string, string][];
  signature: string;
}

/** A genuine request, and another address at which something genuine could come. */
interface Genuine extends Request {
  elsewhere: string[];
}

/** Forgeries of one request, in rotation; `turn` varies each kind. */
const FORGERIES: readonly ((genuine: Genuine, turn: number) => Request)[] = [
  (genuine, turn) => changed(genuine, turn, (value) => `${value.slice(0, -1)}${value.endsWith("1") ? "2" : "1"}`),
  (genuine, turn) => changed(genuine, turn, (value) => `${value} `),
  (genuine, turn) => changed(genuine, turn, (value) => (value === "" ? "x" : "")),
  ({ parameters, ...rest }, turn) => ({ ...rest, parameters: parameters.toSpliced(turn % parameters.length, 1) }),
  (genuine, turn) => ({ ...genuine, parameters: [...genuine.parameters, [`Extra${turn}`, ""]] }),
  (genuine, turn) => {
    const [name, value] = genuine.parameters[turn % genuine.parameters.length] ?? assert.fail();
    return { ...genuine, parameters: [...genuine.parameters, [name, `${value}${turn}`]] };
  },
  (genuine, turn) => {
    const at = turn % (genuine.signature.length - 1);
    const other = genuine.signature[at] === "A" ? "B" : "A";
    const signature = genuine.signature.slice(0, at) + other + genuine.signature.slice(at + 1);
    return { ...genuine, signature };
  },
  (genuine, turn) => ({ ...genuine, signature: genuine.signature.slice(0, turn % genuine.signature.length) }),
  (genuine, turn) => ({ ...genuine, signature: `${genuine.signature}${"=".repeat(1 + (turn % 5))}` }),
  (genuine, turn) => signedBy(`${turn}`, genuine),
  (genuine) => signedBy("", genuine),
  (genuine, turn) => ({ ...genuine, url: `${genuine.url}${["?a=1", "/", "//", "0", "?", "/x", "%20"][turn % 7]}` }),
  (genuine, turn) => ({ ...genuine, url: genuine.elsewhere[turn % genuine.elsewhere.length] ?? assert.fail() }),
];

function changed(genuine: Genuine, turn: number, change: (value: string) => string): Request {
  const at = turn % genuine.parameters.length;
  const parameters = genuine.parameters.map(([name, value], index): [string, string] =>
    index === at ? [name, change(value)] : [name, value],
  );
  return { ...genuine, parameters };
}

function signedBy(token: string, genuine: Genuine): Request {
  return {
    ...genuine,
    signature: getExpectedTwilioSignature(token, genuine.url, Object.fromEntries(genuine.parameters)),
  };
}

function post({ url, parameters, signature }: Request): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(signature === "" ? {} : { "x-twilio-signature": signature }),
    },
    body: new URLSearchParams(parameters).toString(),
  });
}

/** Everything that a callback could have changed. */
async function stateOf({ ask, admin }: TwilioService, messageId: string): Promise<unknown> {
  const paths = [`/v1/messages/${messageId}`, "/v1/messages", "/v1/events?limit=100", "/v1/opt-outs", "/v1/chats"];
  const answers = [];
  for (const path of paths) answers.push((await ask("GET", path)).data);
  const { data } = await admin("GET", "/v1/admin/usage");
  return [...answers, data.totals.messagesReceived];
}

test("a thousand forged callbacks and inbound messages are refused and change nothing", {
  timeout: 120_000,
}, async (t) => {
  const twilio = await twilioService(t);
  const { fake, hookUrl, admin, send, becomes, ask } = twilio;
  const config = { ...fake.config, authToken: "another" };
  const { data: other } = await admin("POST", "/v1/admin/instances", { name: "Other", provider: "twilio", config });
  fake.behaviours.set(TO, { statuses: ["sent"] });
  const id = await send(TO, "Hello");
  await becomes(id, "sent");
  const taken = fake.taken({ to: TO })[0] ?? assert.fail();
  const statusUrl = taken.statusCallback ?? assert.fail();
  const anotherMessage = statusUrl.replace(/.(?=\/\d+$)/, (last) => (last === "0" ? "1" : "0"));
  const onOther = statusUrl.replace(hookUrl, other.hookUrl);
  const status = fake.callback({ ...taken, status: "delivered" });
  const inbound = {
    MessageSid: `SM${"1".repeat(32)}`,
    From: TO,
    To: OWN,
    Body: "STOP",
    NumMedia: "0",
    OptOutType: "STOP",
  };
  const genuine = (url: string, parameters: Record<string, string>, elsewhere: string[]): Genuine => ({
    url,
    parameters: Object.entries(parameters),
    signature: getExpectedTwilioSignature(fake.authToken, url, parameters),
    elsewhere,
  });
  const requests = [
    genuine(statusUrl, status, [hookUrl, `${hookUrl}/inbound`, anotherMessage, onOther]),
    genuine(hookUrl, inbound, [`${hookUrl}/inbound`, statusUrl, other.hookUrl, `${other.hookUrl}/inbound`]),
  ];
  const hooks = [hookUrl, other.hookUrl];
  const before = await stateOf(twilio, id);
  for (let variant = 0; variant < VARIANTS; variant += 1) {
    const subject = requests[variant % requests.length] ?? assert.fail();
    const turn = Math.floor(variant / requests.length);
    const forge = FORGERIES[turn % FORGERIES.length] ?? assert.fail();
    const forged = forge(subject, Math.floor(turn / FORGERIES.length));
    const response = await post(forged);
    // With another token in its path it is no hook at all.
    const isHook = hooks.some((hook) => /^([/?]|$)/.test(forged.url.slice(hook.length)) && forged.url.startsWith(hook));
    assert.equal(response.status, isHook ? 403 : 404, `${variant}: ${JSON.stringify(forged)}`);
    assert.ok(!(await response.text()).includes(subject.signature));
  }
  assert.deepEqual(await stateOf(twilio, id), before);
  // Afterwards genuine callbacks are accepted.
  for (const request of requests) assert.ok((await post(request)).ok);
  await becomes(id, "delivered");
  assert.equal((await ask("GET", "/v1/opt-outs")).data.optOuts.length, 1);
});

/** `npm run smoke`: tries a server that runs, as a customer would, with a receiver on loopback; then cleans up. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { findConnection } from "../../cli/connection.ts";
import { explain } from "../../cli/failure.ts";
import { Tightbeam } from "../../sdk/client.ts";
import type { Key } from "../../sdk/wire.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";
import { until } from "./wait.ts";

/** The sandbox delivers to it within 50 ms. */
const RECIPIENT = "+15005550100";
const EXPECTED = ["message.queued", "message.sent", "message.delivered"];
const ARRIVES_WITHIN_MS = 15_000;
const TOLERANCE_SECONDS = 300;

/** The records that must be deleted at the end, the last one first. */
type CleanUp = { what: string; undo: () => Promise<unknown> }[];

async function main(): Promise<void> {
  const cleanUp: CleanUp = [];
  try {
    await smokeTest(cleanUp);
  } catch (error) {
    fail(error);
  }
  for (const { what, undo } of cleanUp.reverse()) {
    try {
      await undo();
      say(what);
    } catch (error) {
      fail(error);
    }
  }
}

async function smokeTest(cleanUp: CleanUp): Promise<void> {
  const connection = findConnection("messages", {}, process.env);
  const { baseUrl } = connection;
  const customer = clientOf(connection);
  const admin = clientOf(findConnection("admin", {}, process.env));
  await isReady(baseUrl);
  say(`${baseUrl} is ready`);

  const made = await keyLike(customer, admin);
  cleanUp.push({ what: `key ${made.id} revoked`, undo: () => admin.admin.keys.revoke(made.id) });
  say(`key ${made.id} made`);
  const client = clientOf({ baseUrl, apiKey: made.key ?? "" });

  const receiver = await startReceiver();
  cleanUp.push({ what: "receiver stopped", undo: () => receiver.stop() });
  const endpoint = await client.webhooks.endpoints.create({ url: receiver.url, events: ["*"], name: "smoke" });
  cleanUp.push({ what: `endpoint ${endpoint.id} deleted`, undo: () => client.webhooks.delete(endpoint.id) });
  say(`endpoint ${endpoint.id} made for ${receiver.url}`);

  const message = await client.messages.send({ to: RECIPIENT, content: { text: "Smoke test" } });
  say(`message ${message.id} accepted as ${message.status}`);
  await arrived(receiver, message.id, endpoint.secret ?? "");
  say(`${EXPECTED.join(", ")} arrived, each rightly signed`);

  const { status } = await client.messages.get(message.id);
  if (status !== "delivered") throw new Error(`the message is ${status}, not delivered`);
  say("message delivered");
  cleanUp.push({ what: `message ${message.id} deleted`, undo: () => client.messages.delete(message.id) });
}

/** A client that does not wait for a server that is away. */
function clientOf({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }): Tightbeam {
  return new Tightbeam({ baseUrl, apiKey, wait: (_, why) => Promise.reject(why) });
}

async function isReady(baseUrl: string): Promise<void> {
  const answer = await fetch(`${baseUrl}/readyz`).catch((error: unknown) => {
    throw new Error(`${baseUrl} does not answer: start the server (npm start), or name it by TIGHTBEAM_URL`, {
      cause: error,
    });
  });
  if (!answer.ok) throw new Error(`${baseUrl}/readyz answers ${answer.status}`);
}

/** A new key for the customer that this client's key belongs to. */
async function keyLike(customer: Tightbeam, admin: Tightbeam): Promise<Key> {
  const { key: own } = await customer.usage();
  for await (const { id, customerId } of admin.admin.keys.listAll({ limit: 100 })) {
    if (id === own?.id && customerId !== null) return admin.admin.keys.create({ name: "smoke", customerId });
  }
  throw new Error("the admin key does not know the other key: are they of the same server?");
}

/**
 * Waits for the events of the message in order. Throws for an event that is not signed with the secret, with a current
 * timestamp.
 */
async function arrived(receiver: Receiver, messageId: string, secret: string): Promise<void> {
  await until(() => EXPECTED.every((type) => receiver.types(messageId).includes(type)), {
    limitMs: ARRIVES_WITHIN_MS,
    what: `the arrival of ${EXPECTED.join(", ")}`,
  });
  const order = receiver.types(messageId).join(", ");
  if (order !== EXPECTED.join(", ")) throw new Error(`the events came as ${order}`);
  for (const received of receiver.received) {
    if (!isGenuine(received, secret)) throw new Error(`${received.event.type} is not rightly signed`);
  }
}

/** The signature, computed independently of the code under test. */
function isGenuine({ headers, body }: Received, secret: string): boolean {
  const timestamp = String(headers["x-timestamp"]);
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`);
  const given = Buffer.from(String(headers["x-signature"]));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
  return Math.abs(Date.now() / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS;
}

function say(line: string): void {
  process.stdout.write(`ok: ${line}\n`);
}

function fail(error: unknown): void {
  const isPlain = error instanceof Error && error.constructor === Error;
  process.stderr.write(`${(isPlain ? [`error: ${error.message}`] : explain(error)).join("\n")}\n`);
  process.exitCode = 1;
}

if (import.meta.main) await main();

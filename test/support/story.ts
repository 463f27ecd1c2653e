/** A day of a flower shop on the sandbox, for pictures and walks of the console: the same people and texts each time. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { crc32, deflateSync } from "node:zlib";
import { Tightbeam } from "../../sdk/client.ts";
import { TightbeamError } from "../../sdk/errors.ts";
import type { EventType } from "../../sdk/wire.ts";
import { ADMIN_KEY, KEY, type Scope } from "./process.ts";
import { until } from "./wait.ts";

/** Ids that addresses of screens name. */
export interface Story {
  messageId: string;
  failedId: string;
  eventId: string;
  requestId: string;
  webhookId: string;
  deliveryId: string;
  customerId: string;
}

/** Contacts; numbers that no person has. */
const MAYA = "+14155550142";
const TOMAS = "+12125550187";
const PRIYA = "+13035550119";
const LENA = "+16175550164";
/** A phone of the sandbox that refuses SMS, and has no iMessage. */
const REFUSED = "+15005550104";

const CONTACTS = [
  { firstName: "Maya", lastName: "Chen", phoneNumber: MAYA, tags: ["weekly bouquet"] },
  { firstName: "Tomás", lastName: "Rivera", phoneNumber: TOMAS, company: "Rivera & Sons", tags: ["weddings"] },
  { firstName: "Priya", lastName: "Nair", phoneNumber: PRIYA, email: "priya@example.com", tags: ["weekly bouquet"] },
  { firstName: "Lena", lastName: "Fischer", phoneNumber: LENA, company: "Café Linden" },
];

interface Narrator {
  url: string;
  shop: Tightbeam;
  admin: Tightbeam;
  /** Sends a text and waits until it has come to an event. */
  send(to: string, text: string, until?: EventType): Promise<string>;
  write(from: string, text: string): Promise<string>;
  /** Moves the clock on, which several customers share. */
  later(by: string): Promise<unknown>;
}

function narratorOf(url: string): Narrator {
  const shop = new Tightbeam({ baseUrl: url, apiKey: KEY });
  const admin = new Tightbeam({ baseUrl: url, apiKey: ADMIN_KEY });
  return {
    url,
    shop,
    admin,
    send: async (to, text, type = "message.delivered") => {
      const { id } = await shop.messages.send({ to, content: { text } });
      await shop.sandbox.wait({ messageId: id, type });
      return id;
    },
    write: async (from, text) => (await shop.sandbox.phone(from).write({ text })).id,
    later: (by) => admin.sandbox.clock.advance(by),
  };
}

/** Fills an empty service that runs with rate limits. Its receivers answer as long as the scope lasts. */
export async function tellStory(t: Scope, serviceUrl: string): Promise<Story> {
  const narrator = narratorOf(serviceUrl);
  const { shop, later } = narrator;
  const url = await startReceiver(t, "/hooks/orders", 200);
  const orders = await shop.webhooks.endpoints.create({ url, name: "Orders", events: ["*"] });
  await fillSettings(narrator);
  await tellEvening(narrator);
  await later("11h");
  const messageId = await tellMorning(narrator);
  await later("2h");
  const failed = await tellTrouble(t, narrator);
  await later("4m");
  await tellNow(narrator);
  const requests = async () => (await shop.requests.list({ messageId })).requests[0]?.id;
  const requestId = await until(requests, { what: "the request in the log" });
  const { customers } = await narrator.admin.admin.customers.list();
  return { messageId, requestId, webhookId: orders.id, customerId: customers.at(-1)?.id ?? "", ...failed };
}

/** Customers, numbers, instances, keys, contacts. */
async function fillSettings({ shop, admin: { admin } }: Narrator): Promise<void> {
  await shop.contacts.createMany(CONTACTS);
  const [own] = (await admin.customers.list()).customers;
  if (own === undefined) throw new Error("the service has no customer");
  const second = await admin.instances.create({ name: "Sandbox, west coast", provider: "sandbox", config: {} });
  await admin.numbers.add(own.id, { phoneNumber: "+14155550100", provider: "sandbox", instanceId: second.id });
  const cafe = await admin.customers.create({ name: "Café Linden", email: "post@linden.example", company: "Linden" });
  await admin.numbers.add(cafe.id, { phoneNumber: "+16175550100", provider: "sandbox" });
  await admin.keys.create({ name: "Café Linden, till", customerId: cafe.id });
  const laptop = await admin.keys.create({ name: "Laptop", customerId: own.id, permissions: ["read"] });
  await admin.keys.revoke(laptop.id);
  const old = await admin.keys.create({ name: "Order service", customerId: own.id });
  await admin.keys.rotate(old.id);
}

async function tellEvening({ shop, send, write, later }: Narrator): Promise<void> {
  await shop.sandbox.phone(TOMAS).change({ imessage: false });
  await shop.sandbox.phone(MAYA).change({ readReceipts: true });
  await send(TOMAS, "Your table flowers for Saturday are confirmed: 14 vases, white and green.");
  await later("6m");
  await write(TOMAS, "Perfect, thank you");
  await send(LENA, "The sunflowers for the café come at 7 tomorrow.");
  await later("21m");
  await write(LENA, "STOP");
  await later("2h");
  await send("+15005550101", "We close at 8 today. Your order waits at the counter.");
}

/** Order 4821, from the question to the payment. Returns its first message. */
async function tellMorning({ shop, send, write, later }: Narrator): Promise<string> {
  const id = await send(
    MAYA,
    "Good morning Maya! Your peonies leave the shop at 3 pm. Is somebody at home?",
    "message.read",
  );
  await later("4m");
  const answer = await write(MAYA, "I am out until six. Can you leave them with my neighbour at no. 12?");
  await shop.messages.react(answer, "like");
  await later("1m");
  const promise = await send(MAYA, "Of course. We ring at no. 12 and send you a photo.", "message.read");
  await shop.sandbox.phone(MAYA).react({ messageId: promise, type: "love" });
  const payment = await shop.payments.request({ to: MAYA, amount: "48.50", note: "12 peonies, order 4821" });
  await later("3m");
  await shop.sandbox.phone(MAYA).pay({ requestId: payment.id });
  await later("2h");
  const photo = { type: "base64", data: drawPhoto().toString("base64"), filename: "at-the-door.png" } as const;
  const sent = await shop.messages.send({
    to: MAYA,
    content: { text: "Delivered to no. 12 just now." },
    attachments: [photo],
  });
  await shop.sandbox.wait({ messageId: sent.id, type: "message.read" });
  await later("7m");
  await write(MAYA, "They are beautiful! See you next week 🌷");
  return id;
}

/** A message that nothing could carry, a receiver that is down, and a client in a hurry. */
async function tellTrouble(t: Scope, narrator: Narrator): Promise<Pick<Story, "failedId" | "eventId" | "deliveryId">> {
  const { shop, send, later } = narrator;
  const billing = await startReceiver(t, "/hooks/billing", 500);
  const endpoint = await shop.webhooks.endpoints.create({
    url: billing,
    name: "Billing",
    events: ["message.failed", "message.inbound", "payment.request.paid"],
  });
  const failedId = await send(REFUSED, "Your corsage is ready to be picked up.", "message.failed");
  const failed = await shop.sandbox.wait({ messageId: failedId, type: "message.failed" });
  await shop.sandbox.phone(PRIYA).write({ text: "Do you have eucalyptus this week?" });
  // The clock moves between two attempts, not before the first.
  const attempted = (count: number) => async () => {
    const { deliveries } = await shop.webhooks.deliveries.list({ webhookId: endpoint.id });
    const isAttempted = deliveries.length > 1 && deliveries.every(({ attempts }) => attempts.length === count);
    return isAttempted ? deliveries.find(({ messageId }) => messageId === failedId) : null;
  };
  await until(attempted(1), { what: "the first attempts" });
  await later("1m");
  await callTooOften(narrator);
  const delivery = await until(attempted(2), { what: "the second attempts" });
  return { failedId, eventId: failed?.id ?? "", deliveryId: delivery.id };
}

async function tellNow({ shop, send, write }: Narrator): Promise<void> {
  await shop.sandbox.phone(PRIYA).call({ action: "ring", video: true });
  await shop.sandbox.phone(PRIYA).call({ action: "miss" });
  await send(PRIYA, "We do! Two bunches are set aside for you.");
  await shop.payments.request({ to: PRIYA, amount: "19", note: "Eucalyptus, 2 bunches" });
  const tomorrow = new Date(Date.parse((await shop.sandbox.clock.get()).now) + 72_000_000).toISOString();
  const bouquet = "Your weekly bouquet comes tomorrow between 9 and 11.";
  await shop.messages.send({ to: MAYA, content: { text: bouquet }, scheduledAt: tomorrow });
  await shop.messages.send({ to: LENA, content: { text: "Tulips for the tables?" } }).catch(() => null);
  await shop.chats.createGroup({ name: "Rivera wedding", participants: [MAYA, PRIYA] });
  await shop.sandbox.phone(PRIYA).change({ online: false });
  await send(PRIYA, "Your eucalyptus waits at the counter.", "message.sent");
  await write(TOMAS, "Could we add two vases for the entrance?");
  await send(TOMAS, "Two more vases are on the list.");
}

/** A key of three requests a minute makes five. */
async function callTooOften({ admin: { admin }, url }: Narrator): Promise<void> {
  const [own] = (await admin.customers.list()).customers.slice(-1);
  const key = await admin.keys.create({
    name: "Shop window display",
    customerId: own?.id ?? "",
    rateLimit: { limit: 3, windowSeconds: 60 },
  });
  const hurried = new Tightbeam({ baseUrl: url, apiKey: key.key ?? "", maxRetries: 0 });
  for (let call = 0; call < 5; call++) {
    await hurried.messages.list({ limit: 5 }).catch((error: unknown) => {
      if (!(error instanceof TightbeamError && error.status === 429)) throw error;
    });
  }
}

/** A receiver of webhooks. Returns its address. */
async function startReceiver(t: Scope, path: string, status: 200 | 500): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    const body = status === 200 ? "thank you" : '{"error":"the invoices are locked"}';
    request.on("end", () => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
}

const WIDTH = 320;
const HEIGHT = 200;

/** A picture that is drawn: an evening sky over hills, as PNG. */
function drawPhoto(): Buffer {
  const rows = Buffer.alloc(HEIGHT * (1 + WIDTH * 3));
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) rows.set(colourAt(x, y), y * (1 + WIDTH * 3) + 1 + x * 3);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(WIDTH, 0);
  head.writeUInt32BE(HEIGHT, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function colourAt(x: number, y: number): [red: number, green: number, blue: number] {
  if (y > 150 + 18 * Math.sin(x / 38)) return [52, 84, 61];
  if (y > 120 + 22 * Math.sin(x / 55 + 2)) return [88, 124, 92];
  if (Math.hypot(x - 230, y - 70) < 24) return [255, 236, 190];
  return [250 - y / 3, 176 - y / 6, 128 + y / 4].map(Math.round) as [number, number, number];
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

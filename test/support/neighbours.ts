/**
 * Two customers of one service, the first with a record of every kind, and checks that the second sees none of them.
 */

import assert from "node:assert/strict";
import type { OpenApiDocument, PublishedOperation } from "../../server/api/openapi/document.ts";
import { type Answered, type Asking, startTestService, type TestService } from "./service.ts";
import { until } from "./wait.ts";

/** Values that only the first customer knows; none of them may be in any response to the second. */
export const SECRET_TEXT = "for nobody else's eyes";
export const EXTERNAL_ID = "only-mine-4711";
const URL_PART = "first-customers-hook";
/** Contacts of the first customer alone. */
export const CONTACT = "+15005550142";
export const OPTED_OUT = "+15005550143";
const IN_GROUP = "+15005550144";
/** A contact of both customers, and the text that the second customer writes. */
export const SHARED = "+15005550120";
export const OTHER_TEXT = "a word of the second";
/** Their numbers. */
export const FIRST_NUMBER = "+15005550001";
export const SECOND_NUMBER = "+15005550002";
/** One pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Every id of the first customer, by kind. */
export type Ids = Record<
  | "message"
  | "event"
  | "chat"
  | "webhook"
  | "delivery"
  | "key"
  | "contact"
  | "number"
  | "payment"
  | "call"
  | "attachment",
  string[]
>;

/** The two customers, and the values that the second must not see. */
export interface Neighbours {
  api: TestService;
  /** The second customer: its id, and its key. */
  otherId: string;
  otherKey: string;
  firstId: string;
  ids: Ids;
  /** A pending payment, a waiting message, a delivered message, a contact's message, and a group. */
  one: { pending: string; scheduled: string; delivered: string; inbound: string; group: string; thread: string };
  /** The link of a file of the first. */
  downloadUrl: string;
  /** Values that must not be visible. */
  hidden: string[];
  first(method: string, path: string, body?: unknown): Promise<Answered>;
  other(method: string, path: string, body?: unknown): Promise<Answered>;
  admin(method: string, path: string, body?: unknown): Promise<Answered>;
  /** Checks that a response contains nothing of the first customer except values that the second sent itself. */
  checkHidden(line: string, answer: Pick<Answered, "data" | "error">, named?: string): void;
}

/** Starts a service with both. The test stops it. */
export async function startNeighbours(): Promise<Neighbours> {
  const api = await startTestService({ TB_SANDBOX_INBOX: "on" });
  const as = (key: string) => (method: string, path: string, body?: unknown) => {
    const asking: Asking = { key, ...(body === undefined ? {} : { body }) };
    return api.ask(method, path, asking);
  };
  const [first, admin] = [as(api.key), as(api.adminKey)];
  const { data: customer } = await admin("POST", "/v1/admin/customers", { name: "Second" });
  const number = { phoneNumber: SECOND_NUMBER, provider: "sandbox" };
  await admin("POST", `/v1/admin/customers/${customer.id}/numbers`, number);
  const { data: key } = await admin("POST", "/v1/admin/keys", { name: "Second", customerId: customer.id });
  const other = as(key.key);
  await ask(other, "POST", "/v1/messages", { to: SHARED, content: { text: OTHER_TEXT } });
  const one = await layOut(first);
  const { data: keys } = await admin("GET", "/v1/admin/keys");
  const own = keys.keys.find(({ customerId }: Keyed) => customerId !== null && customerId !== customer.id);
  const ids = await collect(first, admin, own);
  const { attachments } = (await ask(first, "GET", `/v1/messages/${one.delivered}`)) as Attaching;
  const [{ downloadUrl = "" } = {}] = attachments;
  const token = downloadUrl.split("/").at(-1) ?? "";
  const words = [SECRET_TEXT, EXTERNAL_ID, URL_PART, CONTACT, OPTED_OUT, IN_GROUP, FIRST_NUMBER, token];
  const hidden = [...words, own.customerId, ...Object.values(ids).flat()];
  return {
    ...{ api, otherId: customer.id, otherKey: key.key, firstId: own.customerId, ids, one, downloadUrl, hidden },
    ...{ first, other, admin },
    checkHidden(line, { data, error }, named = "") {
      const seen = JSON.stringify({ data, error });
      for (const secret of hidden) {
        if (!named.includes(secret)) assert.ok(!seen.includes(secret), `${line} shows ${secret}: ${seen}`);
      }
    },
  };
}

interface Keyed {
  id: string;
  customerId: string | null;
}

interface Attaching {
  attachments: { downloadUrl?: string }[];
}

type Ask = Neighbours["first"];

async function ask(by: Ask, method: string, path: string, body?: unknown): Promise<Answered["data"]> {
  const { status, data, error } = await by(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(error)}`);
  return data;
}

/** Gives the first customer a record of every kind. */
async function layOut(first: Ask): Promise<Neighbours["one"]> {
  const content = { text: SECRET_TEXT };
  const send = (more: object = {}) =>
    ask(first, "POST", "/v1/messages", { to: CONTACT, content, externalMessageId: EXTERNAL_ID, ...more });
  const url = `http://127.0.0.1:9/${URL_PART}`;
  await ask(first, "PUT", "/v1/webhooks", { url, events: ["*"] });
  await ask(first, "POST", "/v1/webhooks", { url: `${url}/2`, events: ["message.failed"], name: SECRET_TEXT });
  const attachments = [{ type: "base64", data: PNG, filename: "one.png" }];
  const { id: delivered } = await send({ attachments });
  const { id: scheduled } = await send({ scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  const { id: failed } = await send({ to: "+15005550105" });
  const { id: shared } = await send({ to: SHARED });
  for (const [id, status] of [
    [delivered, "delivered"],
    [failed, "failed"],
    [shared, "delivered"],
  ] as const) {
    await until(async () => (await first("GET", `/v1/messages/${id}`)).data.status === status, { what: status });
  }
  const contact = { phoneNumber: CONTACT, firstName: SECRET_TEXT, tags: [EXTERNAL_ID] };
  await ask(first, "POST", "/v1/contacts", contact);
  await ask(first, "PUT", `/v1/opt-outs/${FIRST_NUMBER}/${OPTED_OUT}`);
  const { id: pending } = await ask(first, "POST", "/v1/payments/request", {
    to: CONTACT,
    amount: 25,
    note: SECRET_TEXT,
  });
  // A call that goes on would end by itself while the test looks.
  for (const action of ["ring", "hangup"]) await ask(first, "POST", `/v1/sandbox/phones/${CONTACT}/calls`, { action });
  const inbound = await ask(first, "POST", `/v1/sandbox/phones/${CONTACT}/messages`, {
    text: SECRET_TEXT,
    attachments,
  });
  const group = await ask(first, "POST", "/v1/chats/groups", { name: SECRET_TEXT, participants: [CONTACT, IN_GROUP] });
  await ask(first, "POST", "/v1/messages", { chatId: group.id, content });
  return { pending, scheduled, delivered, inbound: inbound.id, group: group.id, thread: inbound.chatId };
}

async function collect(first: Ask, admin: Ask, key: Keyed): Promise<Ids> {
  const list = async (path: string, name: string): Promise<string[]> => {
    const data = await ask(first, "GET", `${path}?limit=100`);
    return data[name].map(({ id }: { id: string }) => id);
  };
  const webhooks: { id: string }[] = await ask(first, "GET", "/v1/webhooks/list");
  const customer = await ask(admin, "GET", `/v1/admin/customers/${key.customerId}`);
  const messages = (await ask(first, "GET", "/v1/messages?limit=100")).messages as (Attaching & { id: string })[];
  return {
    message: messages.map(({ id }) => id),
    event: (await list("/v1/events", "events")).slice(0, 5),
    chat: await list("/v1/chats", "chats"),
    webhook: webhooks.map(({ id }) => id),
    delivery: (await list("/v1/webhooks/deliveries", "deliveries")).slice(0, 5),
    key: [key.id],
    contact: await list("/v1/contacts", "contacts"),
    number: customer.numbers.map(({ id }: { id: string }) => id),
    payment: await list("/v1/payments/requests", "requests"),
    call: await list("/v1/facetime/calls", "calls"),
    attachment: messages.flatMap(({ attachments }) => attachments.map((one) => (one as { guid?: string }).guid ?? "")),
  };
}

/** A route of the reference. */
export interface ListedRoute {
  method: string;
  /** With its parameters as in `/v1/messages/:id`. */
  path: string;
  name: string;
  scope: "messages" | "admin" | "any" | "public";
  query: string[];
  /** A valid body; undefined for a route without a body. */
  body: unknown;
}

/** Every route under `/v1` that the running service's own reference has. */
export async function readRoutes(url: string): Promise<ListedRoute[]> {
  const response = await fetch(`${url}/openapi.json`);
  assert.equal(response.status, 200, "/openapi.json");
  const document = (await response.json()) as OpenApiDocument;
  return Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item)
      .filter(() => template.startsWith("/v1/"))
      .map(([method, operation]) => listed(method.toUpperCase(), template.replace(/\{(\w+)\}/g, ":$1"), operation)),
  );
}

function listed(method: string, path: string, operation: PublishedOperation): ListedRoute {
  const { "x-scope": scope = "public" } = operation;
  assert.ok(scope !== "session", "no route under /v1 takes sessions only");
  const query = operation.parameters.flatMap((one) => ("in" in one && one.in === "query" ? [String(one.name)] : []));
  const content = operation.requestBody?.content["application/json"];
  const body = content === undefined ? undefined : (content.example ?? {});
  return { method, path, name: `${method} ${path}`, scope, query, body };
}

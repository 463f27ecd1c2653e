/** Routes as a generator of requests takes them: bare, with ids of records that are there, at extremes, and as they succeed. */

import assert from "node:assert/strict";
import type { RouteShape } from "./requests.ts";

/**
 * Ids that the generator writes: each is swapped for that of a record which is there, of the same length, when the
 * request is sent. So a seed makes the same requests, and they still reach what lies behind the checks.
 */
export const STAND_INS = {
  message: "msg_00000000-0000-7000-8000-0000000000a1",
  scheduled: "msg_00000000-0000-7000-8000-0000000000a2",
  failed: "msg_00000000-0000-7000-8000-0000000000a3",
  inbound: "msg_00000000-0000-7000-8000-0000000000a0",
  event: "evt_00000000-0000-7000-8000-0000000000a4",
  webhook: "wh_00000000-0000-7000-8000-0000000000a5",
  delivery: "dlv_00000000-0000-7000-8000-0000000000a6",
  customer: "cust_00000000-0000-7000-8000-0000000000a7",
  number: "num_00000000-0000-7000-8000-0000000000a8",
  key: "key_00000000-0000-7000-8000-0000000000a9",
  contact: "con_00000000-0000-7000-8000-0000000000aa",
  chat: "chat_00000000-0000-7000-8000-0000000000ab",
  thread: "chat_00000000-0000-7000-8000-0000000000ac",
  payment: "pay_00000000-0000-7000-8000-0000000000ad",
  call: "call_00000000-0000-7000-8000-0000000000ae",
  instance: "inst_00000000-0000-7000-8000-0000000000af",
  request: "req_00000000-0000-7000-8000-0000000000b1",
  session: "ses_00000000-0000-7000-8000-0000000000b2",
  token: "standin-for-a-token-of-an-attachment-0000000000000b",
} as const;
export type Kind = keyof typeof STAND_INS;

/** Records that requests may use up, by their stand-ins. */
export type World = Record<Kind, string>;

/** A phone that replies, so that both have written, and the customer's number. */
export const ECHO = "+15005550110";
const OWN = "+15005550001";
/** Somebody in the group that is there, and somebody who opted out. */
export const MEMBER = "+15005550143";
const OPTED_OUT = "+15005550142";
/** A phone that accepts everything: the contact of the world's records. */
export const PHONE = "+15005550100";
/** A stand-in for an image that can be fetched: its port is replaced by the right port, of five digits. */
export const IMAGE_URL = "http://127.0.0.1:00009/image.png";
/** An audio file without a sound in it. */
export const WAV = "UklGRgAAAABXQVZFZm10IA==";
/** One pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Schema {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  required?: string[];
  enum?: unknown[];
  always?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

/** Values of a field that are as far out as they may be, and a little farther; ids are of records that are there. */
function extremesOf(name: string, schema: Schema): unknown[] {
  const ids = Object.entries(STAND_INS).filter(([kind]) => name.toLowerCase().includes(`${kind}id`));
  if (ids.length > 0) return ids.map(([, id]) => id);
  if (name === "after") return [STAND_INS.event];
  if (name === "replyTo") return [STAND_INS.inbound, STAND_INS.scheduled, STAND_INS.failed];
  if (schema.format === "instant" || ["scheduledAt", "from", "to"].includes(name)) return INSTANTS;
  if (name === "url" || name === "callbackUrl" || name.startsWith("mediaUrl")) return URLS;
  if (name === "amount") return AMOUNTS;
  const { type, minimum, maximum, minLength = 0, maxLength } = schema;
  if (type === "integer" || type === "number") {
    const around = [minimum, maximum]
      .filter((edge) => edge !== undefined)
      .flatMap((edge) => [edge - 1, edge, edge + 1]);
    return [...around, 0, -1, 1.5, Number.MAX_SAFE_INTEGER, 1e308];
  }
  if (type === "string" && maxLength !== undefined) {
    const long = Math.min(maxLength, 20_000);
    const emoji = "\u{1f600}";
    return [
      "x".repeat(minLength),
      "x".repeat(long),
      "x".repeat(long + 1),
      emoji.repeat(long / 2),
      "\u202e\u200d\ufeff",
      " ",
    ];
  }
  return [];
}

const INSTANTS = [
  "0000-01-01T00:00:00Z",
  "0000-01-01T00:00:00+23:59",
  "9999-12-31T23:59:59.999999999Z",
  "9999-12-31T23:59:59.999-23:59",
  "1970-01-01T00:00:00Z",
  "2024-02-29T00:00:00Z",
  "2026-06-30T23:59:60Z",
  "0000-01-01",
  "9999-12-31",
  OWN,
  PHONE,
];

const URLS = [
  "http://127.0.0.1:9/hook",
  "http://localhost:9/",
  "http://[::1]:9/",
  "https://0x7f.1/",
  `http://127.0.0.1:9/${"x".repeat(2_000)}`,
  `http://127.0.0.1:9/${"x".repeat(2_100)}`,
  "http://127.0.0.1:9/?q=\u00e9#f",
  "http://u:p@127.0.0.1:9/",
  "https://metadata.google.internal/",
  "data:image/png;base64,AAAA",
];

const AMOUNTS = [0, -0, 0.01, 0.001, 999_999.99, 1_000_000, 1e-7, 1e21, "0", "0.00", "00.01", "1.", ".5", "1e2", "١"];

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Values that a valid request needs, by field, so that requests pass the checks. */
const PLAUSIBLE: Readonly<Record<string, readonly unknown[]>> = {
  to: [..."012345678912345"].map((last, at) => `+15005550${at < 10 ? 10 : 11}${last}`).concat("a@example.com", PHONE),
  from: [OWN],
  text: ["Hello", "\u{1f600}".repeat(5_000), "\u202e\ufeff", "x".repeat(10_000), "STOP", "START"],
  scheduledAt: [inMs(30_000), inMs(86_400_000), inMs(29 * 86_400_000)],
  expiresAt: [inMs(86_400_000), "9999-12-31T23:59:59Z"],
  since: ["0000-01-01T00:00:00Z", inMs(-600_000)],
  until: [inMs(600_000), "9999-12-31T23:59:59Z"],
  callbackUrl: ["http://127.0.0.1:9/callback"],
  url: [...[..."0123456789"].map((path) => `http://127.0.0.1:9/${path}`), IMAGE_URL],
  mediaUrls: [IMAGE_URL],
  mediaUrl: [IMAGE_URL],
  data: [PNG, Buffer.from("a text").toString("base64")],
  mimeType: ["image/png", "text/plain"],
  filename: ["a.png", "\u{1f600}.txt", "../../etc/passwd"],
  name: ["Other", "\u{1f600}"],
  secret: ["", "a secret", "~".repeat(256)],
  phoneNumber: Array.from({ length: 300 }, (_, index) => `+1556${String(index).padStart(7, "0")}`),
  participants: Array.from({ length: 300 }, (_, index) => `+1558${String(index).padStart(7, "0")}`),
  participant: ["+15580000001", "+15580000002"],
  email: ["a@example.com", "b@example.com"],
  contacts: [{ phoneNumber: "+15590000001", tags: ["a"] }, { email: "c@example.com" }, { phoneNumber: "1" }, null],
  ids: [STAND_INS.contact],
  search: ["%", "_", "'", "\\", "\u{1f600}", "Hello"],
  tag: ["a"],
  tags: ["a", "\u{1f600}"],
  amount: [25, "25.00", "0.01", 999_999.99],
  currency: ["USD"],
  note: ["Lunch", ""],
  expiresInSeconds: [1, 86_400],
  advance: ["1s", "30s", "6m"],
  reset: [true],
  chatId: [STAND_INS.chat, STAND_INS.thread, ECHO],
  conversationId: [STAND_INS.thread],
  messageId: [STAND_INS.message],
  requestId: [STAND_INS.payment],
  replyTo: [STAND_INS.message],
  address: [PHONE],
  start: [0],
  length: [1],
  after: [STAND_INS.event],
  events: ["*", "message.sent,message.inbound"],
  config: [{}, {}, {}, { url: "http://127.0.0.1:9", password: "a secret", ingest: "webhook" }],
  instanceId: [STAND_INS.instance],
  customerId: [STAND_INS.customer],
  timeZone: ["America/New_York", "Asia/Kathmandu"],
  prefix: ["+", ..."0123456789".split("").map((digit) => `+1555${digit}`)],
};

/** Fields whose name has several meanings, by their format. */
function plausibleOf(name: string, { format }: Schema): readonly unknown[] {
  return BY_FORMAT[format ?? ""] ?? PLAUSIBLE[name] ?? [];
}

const BY_FORMAT: Readonly<Record<string, readonly string[]>> = {
  clockTime: ["00:00", "08:00", "21:00", "23:59"],
  reaction: ["love", "-love", "\u{1f602}", "-\u{1f389}"],
};

/** Valid bodies that `sparseOf` does not make: exactly these fields. */
const VARIANTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "POST /v1/messages": [
    ["to", "content"],
    ["to", "content", "scheduledAt"],
    ["to", "content", "callbackUrl", "metadata"],
    ["chatId", "content"],
    ["conversationId", "content"],
    ["to", "content", "attachments"],
    ["to", "content", "effect", "mentions"],
    ["chatId", "content", "replyTo"],
    ["to", "content", "createContact"],
  ],
  "POST /v1/messages/carousel": [["chatId", "mediaUrls"]],
  "PUT /v1/messages/:id": [["text"], ["content"]],
  "POST /v1/messages/:id/reactions": [["type"], ["reaction"]],
  "POST /v1/chats/:id/participants": [["participant"], ["phoneNumber"]],
  "POST /v1/payments/request": [["to", "amount", "expiresInSeconds"]],
  "POST /v1/contacts/bulk": [["contacts"]],
  "POST /v1/sandbox/phones/:number/messages": [["text"], ["attachments"], ["text", "replyTo"], ["text", "channel"]],
  "POST /v1/sandbox/phones/:number/payments": [["amount"], ["requestId"]],
  "POST /v1/sandbox/phones/:number/typing": [["typing"]],
  "POST /v1/sandbox/phones/:number/reactions": [["messageId", "type"]],
  "POST /v1/sandbox/phones/:number/audio-kept": [["messageId"]],
  "POST /v1/sandbox/phones/:number/group-photo": [["chatId"]],
  "POST /v1/sandbox/phones/:number/calls": [["action"], ["action", "video"]],
  "POST /v1/sandbox/clock": [["advance"], ["reset"]],
  "POST /v1/admin/customers/:id/numbers": [["phoneNumber", "provider"]],
  "POST /v1/admin/instances": [["name", "provider", "config"]],
  "PATCH /v1/admin/instances/:id": [["name"], ["config"]],
};

/** The schema with each field narrowed to the values of `valuesOf`; a field without such values is unchanged. */
function narrowed(schema: Schema, valuesOf: (name: string, schema: Schema) => readonly unknown[], name = ""): Schema {
  if (schema.properties !== undefined) {
    const entries = Object.entries(schema.properties).map(([field, inner]) => [
      field,
      narrowed(inner, valuesOf, field),
    ]);
    return { ...schema, properties: Object.fromEntries(entries) };
  }
  if (schema.items !== undefined) return { ...schema, items: narrowed(schema.items, valuesOf, name) };
  const values = schema.enum === undefined ? valuesOf(name, schema) : [];
  return values.length > 0 ? { enum: [...values] } : schema;
}

/** The kind of record that a path parameter names, by the segment before it. */
function standInsFor(path: string): string[] {
  const found = PARAMETERS.find(([before]) => path.startsWith(before));
  assert.ok(found !== undefined, `which records has ${path} parameters of?`);
  return [...found[1]];
}

/** The first that fits counts. */
const PARAMETERS: readonly (readonly [before: string, ids: readonly string[]])[] = [
  ["/v1/messages", [STAND_INS.message, STAND_INS.scheduled, STAND_INS.failed, STAND_INS.inbound]],
  ["/v1/events", [STAND_INS.event]],
  ["/v1/webhooks/deliveries", [STAND_INS.delivery]],
  ["/v1/webhooks", [STAND_INS.webhook]],
  ["/v1/requests", [STAND_INS.request]],
  ["/v1/admin/sessions", [STAND_INS.session]],
  ["/v1/admin/keys", [STAND_INS.key]],
  ["/v1/admin/customers", [STAND_INS.customer]],
  ["/v1/admin/instances", [STAND_INS.instance]],
  ["/v1/chats", [STAND_INS.chat, ECHO]],
  ["/v1/contacts", [STAND_INS.contact]],
  ["/v1/payments", [STAND_INS.payment]],
  ["/v1/facetime", [STAND_INS.call]],
  ["/v1/attachments", [STAND_INS.token]],
  ["/v1/sandbox/phones", [PHONE]],
  ["/v1/capabilities", [ECHO]],
  ["/v1/opt-outs", [OWN]],
];

/** The path with existing ids in place of its parameters. */
function filledPath(path: string, id: string): string {
  return path
    .replace(":numberId", STAND_INS.number)
    .replace(":phone", ECHO)
    .replace(":contact", OPTED_OUT)
    .replace(":address", MEMBER)
    .replace(/:(id|number|token)/, id);
}

/** The shape without a query, and with only required or known fields of its body. */
function sparseOf(shape: RouteShape): RouteShape {
  if (shape.body === null) return { ...shape, query: null };
  const body = shape.body as Schema;
  if (body.items !== undefined) return { ...shape, query: null };
  const isKept = (name: string) => (name in PLAUSIBLE && !ALTERNATIVES.has(name)) || body.required?.includes(name);
  const kept = Object.entries(body.properties ?? {}).filter(([name]) => isKept(name));
  const required = [...(body.required ?? []), "to", "customerId", "phoneNumber"];
  return {
    ...shape,
    query: null,
    body: { ...body, properties: Object.fromEntries(kept), required } as RouteShape["body"],
  };
}

/** Aliases of fields: a request with both names is refused. */
const ALTERNATIVES: ReadonlySet<string> = new Set(["chatId", "conversationId", "participant", "replyTo", "instanceId"]);

/** The shape with exactly these fields in its body, all required. */
function variantOf(shape: RouteShape, fields: readonly string[]): RouteShape {
  const { properties = {}, ...body } = shape.body as Schema;
  const kept = fields.map((field) => {
    assert.ok(properties[field] !== undefined, `${shape.name} has no field ${field}`);
    return [field, properties[field]] as const;
  });
  return {
    ...shape,
    query: null,
    body: { ...body, properties: Object.fromEntries(kept), required: [...fields] } as unknown as RouteShape["body"],
  };
}

/** Every route unchanged, with ids of existing records, with fields at their extremes, and with valid bodies. */
export function shapesOf(routes: readonly RouteShape[]): RouteShape[] {
  const ending = routes.filter(({ path }) => path !== ENDLESS);
  return ending.map(withName).flatMap((route) => {
    const paths = route.path.includes(":")
      ? standInsFor(route.path).map((id) => filledPath(route.path, id))
      : [route.path];
    const real = paths.map((path) => ({ ...route, path }));
    const withValues = (shape: RouteShape, valuesOf: Parameters<typeof narrowed>[1]): RouteShape => {
      const of = (schema: RouteShape["body"]) =>
        (schema === null ? null : narrowed(JSON.parse(JSON.stringify(schema)), valuesOf)) as RouteShape["body"];
      return { ...shape, body: of(route.body), query: of(route.query) };
    };
    const extreme = real.map((shape) => withValues(shape, extremesOf));
    const taken = real.map((shape) => withValues(shape, plausibleOf));
    const sparse = taken.map(sparseOf);
    const variants = (VARIANTS[route.name] ?? []).flatMap((fields) => taken.map((shape) => variantOf(shape, fields)));
    const often = route.method === "POST" ? [...sparse, ...sparse] : [];
    const straight = [...sparse, ...variants].map((shape) => ({ ...shape, straight: true }));
    const all = [route, ...real, ...extreme, ...taken, ...sparse, ...often, ...variants, ...straight];
    return route.name === WAITING ? all.map(impatient) : all;
  });
}

function withName(route: RouteShape): RouteShape & { name: string } {
  return { ...route, name: `${route.method} ${route.path}` };
}

/** Its response never ends. */
const ENDLESS = "/v1/wire";

/** Its response may be delayed by the request, longer than a test can wait. */
const WAITING = "GET /v1/sandbox/wait";

function impatient(shape: RouteShape): RouteShape {
  const query = shape.query as Schema | null;
  const properties = { ...query?.properties, timeoutSeconds: { enum: [0, 0.02], always: true } };
  return { ...shape, query: { ...query, properties } as unknown as RouteShape["query"] };
}

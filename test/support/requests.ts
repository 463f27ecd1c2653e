/** Requests with every kind of mistake of a client, for properties that hold for any request. */

import { METHODS as NODE_METHODS } from "node:http";
import fc from "fast-check";
import type { Route } from "../../server/api/route.ts";
import { ODD_CURSORS, ODD_IDS, ODD_JSON, ODD_NAMES, ODD_PARAMETERS, ODD_VALUES } from "./odd-values.ts";

/**
 * The generator's knowledge of a route. `name`: the name under which its requests are counted. `straight`:
 * they are as a client writes them that knows what it does.
 */
export type RouteShape = Pick<Route, "method" | "path" | "scope" | "body" | "query"> & {
  name?: string;
  straight?: boolean;
};

/** A good key of each scope. */
export interface Keys {
  messages: string;
  admin: string;
}

/** One request as its exact bytes. `cut`: the client stops in the middle. */
export interface AnyRequest {
  line: string;
  bytes: Buffer;
  head: boolean;
  cut: boolean;
  /** Name of the shape whose method and path it has, null where those were bent. */
  name: string | null;
}

interface JsonSchema {
  type?: string;
  format?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  minItems?: number;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  /** A query parameter that every request must have. */
  always?: boolean;
}

/**
 * Requests at `routes`: mostly near what they take and then bent, most with a key that fits. Cut JSON, wrong types,
 * unknown and prototype keys, bodies too large now and then, odd methods, bad cursors, control characters in headers.
 */
export function anyRequest(routes: readonly RouteShape[], keys: Keys): fc.Arbitrary<AnyRequest> {
  const byName = [...Map.groupBy(routes, ({ name, method, path }) => name ?? `${method} ${path}`).values()];
  const anyRoute = fc.oneof(
    fc.constantFrom(...routes),
    // Of some there are few shapes.
    fc.constantFrom(...byName).chain((shapes) => fc.constantFrom(...shapes)),
  );
  return anyRoute.chain((route) => {
    const parts = fc.record({
      route: fc.constant(route),
      method: mostly(fc.constant(route.method as string), fc.constantFrom(...NODE_METHODS, "FROB", "get", "")),
      path: pathOf(route.path),
      query: queryOf(route.query as JsonSchema | null),
      headers: headersOf(route, keys),
      body: bodyOf(route.body as JsonSchema | null),
      framing: mostly(fc.constantFrom("length", "chunked"), fc.constantFrom("long", "short", "both", "bad")),
      version: mostly(fc.constant("HTTP/1.1"), fc.constantFrom("HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP", "")),
      host: mostly(fc.constant("Host: x\r\n"), fc.constantFrom("", "Host: x\r\nHost: y\r\n", "Host:\r\n")),
    });
    return (route.straight ? straightened(route, keys, parts) : parts).map(assemble);
  });
}

/** The parts of a request that is bent nowhere. */
function straightened(route: RouteShape, keys: Keys, parts: fc.Arbitrary<Parts>): fc.Arbitrary<Parts> {
  const schema = route.body as JsonSchema | null;
  const body = (schema === null ? fc.constant("") : likely(schema, false)).map((json) => Buffer.from(json));
  const headers = [goodKey(route, keys), "Content-Type: application/json"];
  return fc.tuple(parts, body).map(([bent, text]) => {
    const query = route.query === null ? "" : bent.query;
    const straight = { method: route.method, path: route.path, query, headers, body: text };
    return { ...bent, ...straight, framing: "length", version: "HTTP/1.1", host: "Host: x\r\n" };
  });
}

function goodKey({ scope, path }: RouteShape, keys: Keys): string {
  // The clock is everybody's: with several customers, as here, an admin key moves it.
  const isAdmin = scope === "admin" || path === "/v1/sandbox/clock";
  return `Authorization: Bearer ${isAdmin ? keys.admin : keys.messages}`;
}

interface Parts {
  route: RouteShape;
  method: string;
  path: string;
  query: string;
  headers: string[];
  body: Buffer;
  framing: string;
  version: string;
  host: string;
}

function assemble({ route, method, path, query, headers, body, framing, version, host }: Parts): AnyRequest {
  const line = `${method} ${path}${query} ${version}`;
  const framed = framingOf(framing, body);
  const head = `${line}\r\n${host}${[...headers, ...framed.headers].map((header) => `${header}\r\n`).join("")}\r\n`;
  const bytes = Buffer.concat([Buffer.from(head, "latin1"), framed.body]);
  const isOwn = method === route.method && path === route.path;
  return { line, bytes, head: method === "HEAD", cut: framed.cut, name: isOwn ? (route.name ?? null) : null };
}

function framingOf(framing: string, body: Buffer): { headers: string[]; body: Buffer; cut: boolean } {
  const chunked = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]);
  switch (framing) {
    case "chunked":
      return {
        headers: ["Transfer-Encoding: chunked"],
        body: body.length === 0 ? Buffer.from("0\r\n\r\n") : chunked,
        cut: false,
      };
    case "long":
      return { headers: [`Content-Length: ${body.length + 5}`], body, cut: true };
    case "short":
      return { headers: [`Content-Length: ${Math.floor(body.length / 2)}`], body, cut: false };
    case "both":
      return { headers: [`Content-Length: ${body.length}`, "Transfer-Encoding: chunked"], body: chunked, cut: true };
    case "bad":
      return { headers: ["Transfer-Encoding: chunked"], body: Buffer.concat([Buffer.from("zz\r\n"), body]), cut: true };
    default:
      return { headers: body.length === 0 ? [] : [`Content-Length: ${body.length}`], body, cut: false };
  }
}

function mostly<Value>(usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ arbitrary: usual, weight: 8 }, { arbitrary: odd, weight: 1 });
}

function pathOf(pattern: string): fc.Arbitrary<string> {
  const filled = fc
    .array(fc.constantFrom(...ODD_IDS), { minLength: 4, maxLength: 4 })
    .map((ids) => pattern.replace(/:\w+/g, () => ids.pop() ?? "x"));
  const bent = fc.constantFrom<(path: string) => string>(
    (path) => `${path}/`,
    (path) => `/${path}`,
    (path) => path.toUpperCase(),
    (path) => `${path}/more`,
    (path) => path.slice(0, -1),
    (path) => `http://x${path}`,
    (path) => path.replace("/v1", "/v1/.."),
    (path) => `${path};a=b`,
    (path) => `${path}#frag`,
    () => "*",
    () => `/v1/${"x".repeat(9_000)}`,
  );
  return mostly(
    filled,
    fc.tuple(filled, bent).map(([path, bend]) => bend(path)),
  );
}

function queryOf(schema: JsonSchema | null): fc.Arbitrary<string> {
  const known = Object.entries(schema?.properties ?? {}).map(([name, property]) =>
    (property.always ? likely(property) : fc.option(likely(property), { freq: 2 })).map((json) => {
      return json === null ? [] : [`${name}=${encodeURIComponent(json.replace(/^"(.*)"$/, "$1"))}`];
    }),
  );
  const names = [...Object.keys(schema?.properties ?? {}), "limit", "cursor", ...ODD_PARAMETERS];
  const odd = fc
    .tuple(fc.constantFrom(...names), fc.constantFrom(...ODD_VALUES, ...ODD_CURSORS, "50", "msg_1", "+15005550100"))
    .map(([name, value]) => `${name}=${value}`);
  return fc
    .tuple(fc.tuple(...known), mostly(fc.constant([] as string[]), fc.array(odd, { minLength: 1, maxLength: 3 })))
    .map(([pairs, odds]) => [...pairs.flat(), ...odds])
    .map((pairs) => (pairs.length === 0 ? "" : `?${pairs.join("&")}`));
}

function headersOf(route: RouteShape, keys: Keys): fc.Arbitrary<string[]> {
  const { scope } = route;
  const good = goodKey(route, keys);
  const bad = [
    `Authorization: Bearer ${scope === "admin" ? keys.messages : keys.admin}`,
    "Authorization: Bearer",
    "Authorization: Basic x",
    `Authorization: Bearer tb_${"0".repeat(36)}`,
    "X-No: key",
  ];
  const odd = fc.constantFrom(
    "X-A: a\x01b",
    "X-A: a\0b",
    "X-A: a\x7fb",
    "X-A: \xff\xfe",
    "X A: b",
    ": b",
    "no colon",
    " folded",
    `X-A: ${"a".repeat(17_000)}`,
    "X-Request-Id: a b",
    "X-Request-Id: mine",
    "X-Correlation-Id: x",
    "Idempotency-Key: one",
    `Idempotency-Key: ${"k".repeat(300)}`,
    "Idempotency-Key: \xe9",
    "Expect: 100-continue",
    "Expect: miracles",
    "Upgrade: websocket",
    "Connection: close",
    "Content-Encoding: gzip",
    "Content-Type: text/plain",
    "Last-Event-ID: evt_\x02",
    "Accept-Version: 9",
    "Range: bytes=0-1",
  );
  const type = mostly(
    fc.constant("Content-Type: application/json"),
    fc.constantFrom(
      "Content-Type: text/plain",
      "Content-Type: ;;",
      "Content-Type: application/json; charset=latin1",
      "X-No: type",
    ),
  );
  const key = mostly(fc.constant(good), fc.constantFrom(...bad));
  const odds = mostly(fc.constant([] as string[]), fc.array(odd, { minLength: 1, maxLength: 3 }));
  return fc.tuple(key, type, odds).map(([keyLine, typeLine, oddLines]) => [keyLine, typeLine, ...oddLines]);
}

/** JSON as text, so that it can contain what no JavaScript value can: `__proto__` as a key, the same key twice. */
function bodyOf(schema: JsonSchema | null): fc.Arbitrary<Buffer> {
  const text = schema === null ? fc.constantFrom("", "", "{}", "null", '{"a":1}', "[") : anyValue(schema);
  const bent = fc
    .tuple(text, fc.nat(), fc.constantFrom("cut", "double", "bytes", "deep", "big", "huge", "empty"))
    .map(([json, at, how]) => {
      switch (how) {
        case "cut":
          return Buffer.from(json).subarray(0, at % (json.length + 1));
        case "double":
          return Buffer.from(json + json);
        case "bytes":
          return Buffer.concat([Buffer.from(json), Buffer.from([0xff, 0xfe])]);
        case "deep":
          return Buffer.from('{"a":['.repeat(40) + "]}".repeat(40));
        case "big":
          return Buffer.from(`{"a":"${"x".repeat(300_000)}"}`);
        case "huge":
          // Seldom: it takes its time.
          return at % 20 === 0 ? Buffer.alloc(11_000_000, 0x20) : Buffer.from(`{${'"a":1,'.repeat(2_000)}"b":2}`);
        default:
          return Buffer.alloc(0);
      }
    });
  return fc.oneof({ arbitrary: text.map((json) => Buffer.from(json)), weight: 4 }, { arbitrary: bent, weight: 1 });
}

function anyValue(schema: JsonSchema, isBent = true): fc.Arbitrary<string> {
  return isBent ? mostly(likely(schema), fc.constantFrom(...ODD_JSON)) : likely(schema, false);
}

/** JSON that is valid for the schema, or nearly; with `isBent`, its values may be invalid. */
function likely(schema: JsonSchema, isBent = true): fc.Arbitrary<string> {
  if (schema.properties !== undefined) return objectOf(schema, isBent);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum.map((value) => JSON.stringify(value)));
  const { items } = schema;
  if (items !== undefined) {
    const { minItems = 1 } = schema;
    return mostly(fc.constant(minItems), fc.constant(0))
      .chain((minLength) => fc.array(anyValue(items, isBent), { minLength, maxLength: minLength + 3 }))
      .map((values) => `[${values.join(",")}]`);
  }
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => likely(one, isBent)));
  if (schema.format === "address" || schema.format === "phone") return fc.constantFrom(...LIKELY_ADDRESSES);
  switch (schema.type) {
    case "integer":
    case "number":
      return fc
        .integer({ min: Math.ceil(schema.minimum ?? -5), max: Math.floor(schema.maximum ?? 1_000_000) })
        .map(String);
    case "boolean":
      return fc.boolean().map(String);
    case "object":
      return fc
        .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }))
        .map((value) => JSON.stringify(value));
    case "null":
      return fc.constant("null");
    default:
      return fc.oneof(
        fc.constantFrom(...LIKELY_TEXT),
        fc.string({ maxLength: schema.maxLength ?? 20 }).map((value) => JSON.stringify(value)),
      );
  }
}

const LIKELY_ADDRESSES = ['"+15005550100"', '"+15005550102"', '"+442071838750"'];

const LIKELY_TEXT = [
  '"+15005550100"',
  '"https://example.com/hook"',
  '"http://127.0.0.1:9/hook"',
  '"https://example.com/\\u00e9"',
  '"2026-01-31T09:30:00Z"',
  '"hello"',
];

function objectOf({ properties = {}, required = [] }: JsonSchema, isBent: boolean): fc.Arbitrary<string> {
  const known = Object.entries(properties).map(([name, schema]) =>
    fc
      .option(anyValue(schema, isBent), { freq: required.includes(name) ? 50 : 2 })
      .map((value) => (value === null ? null : `${JSON.stringify(name)}:${value}`)),
  );
  const none = fc.constant<string[]>([]);
  const unknown = fc
    .tuple(fc.constantFrom(...ODD_NAMES), fc.constantFrom(...ODD_JSON))
    .map(([name, value]) => `"${name}":${value}`);
  return fc
    .tuple(fc.tuple(...known), isBent ? mostly(none, fc.array(unknown, { minLength: 1, maxLength: 3 })) : none)
    .map(([fields, odd]) => `{${[...fields.filter((field) => field !== null), ...odd].join(",")}}`);
}

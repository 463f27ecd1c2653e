/** The OpenAPI 3.1 document, made of the contract alone. Pure. */

import { allEvents } from "../../../contract/events.ts";
import { INTRODUCTION } from "../../../contract/introduction.ts";
import type { Operation, RouteName, Section } from "../../../contract/operation.ts";
import { SECTIONS } from "../../../contract/reference.ts";
import { SHOWN } from "../../../contract/schema.ts";
import { eventSchemas, type Notification, notification } from "./notifications.ts";
import { PARAMETERS, type Parameter, parametersOf } from "./parameters.ts";
import {
  codesOf,
  errorResponses,
  HEADERS,
  type Header,
  type PublishedResponse,
  sharedErrors,
  successes,
} from "./responses.ts";
import { type Components, type PublishedSchema, publish } from "./schema.ts";

/** An operation of the document. */
export interface PublishedOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  /** The keys that it takes: a customer's, an admin key, both, or the session of either; absent if it takes none. */
  "x-scope"?: "messages" | "admin" | "any" | "session";
  security?: Record<string, string[]>[];
  parameters: (Parameter | PublishedSchema)[];
  requestBody?: { required: boolean; content: Record<string, { schema: PublishedSchema; example?: unknown }> };
  responses: Record<string, PublishedResponse | PublishedSchema>;
}

/** An OpenAPI 3.1 document: the parts that are read here. */
export interface OpenApiDocument {
  openapi: string;
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; identifier: string };
  };
  servers: { url: string }[];
  security: Record<string, string[]>[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, PublishedOperation>>;
  webhooks: Record<string, { post: Notification }>;
  components: {
    securitySchemes: Record<string, unknown>;
    schemas: Record<string, PublishedSchema>;
    responses: Record<string, PublishedResponse>;
    headers: Record<string, Header>;
    parameters: Record<string, Parameter>;
  };
}

const SESSION_SCHEMES = {
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-tightbeam",
    description:
      "The cookie that `POST /session` sets; with http its name is `tightbeam_<port>`. Pages of the service may use it in place of a key on every route.",
  },
  csrf: {
    type: "apiKey",
    in: "header",
    name: "X-CSRF-Token",
    description: "`csrfToken` of the session: beside the cookie in requests that change something.",
  },
} as const;

/** Makes the document of a version. Throws for two schemas of one name. */
export function buildDocument(version: string): OpenApiDocument {
  const components: Components = new Map();
  const responses = sharedErrors(components);
  const paths: OpenApiDocument["paths"] = {};
  for (const section of SECTIONS) {
    for (const [name, declared] of Object.entries(section.operations) as [RouteName, Operation][]) {
      const { method, path } = parts(name);
      const template = templateOf(path);
      const item = paths[template] ?? {};
      paths[template] = {
        ...item,
        [method.toLowerCase()]: publishOperation(name, declared, section, components),
      };
    }
  }
  const text = JSON.stringify(paths);
  const referred = Object.entries(responses).filter(([name]) => text.includes(`/responses/${name}"`));
  const notified = allEvents.map((one) => [one.type, { post: notification(one) }] as const);
  eventSchemas(allEvents, components);
  return {
    openapi: "3.1.1",
    info: {
      title: "Tightbeam",
      version,
      summary: "iMessage with SMS fallback behind one API, and signed webhooks that never get lost.",
      description: INTRODUCTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: SECTIONS.map(({ tag, description }) => ({ name: tag, description })),
    paths,
    webhooks: Object.fromEntries(notified),
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A key: `tb_` and 32 or more letters and digits." },
        ...SESSION_SCHEMES,
      },
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: Object.fromEntries(referred),
      headers: { ...HEADERS },
      parameters: PARAMETERS,
    },
  };
}

function parts(name: RouteName): { method: string; path: string } {
  const [method = "", path = ""] = name.split(" ");
  return { method, path };
}

function isUnderV1(name: string): boolean {
  return parts(name as RouteName).path.startsWith("/v1/");
}

function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

function publishOperation(
  name: RouteName,
  declared: Operation,
  section: Section,
  components: Components,
): PublishedOperation {
  const { method, path } = parts(name);
  const codes = codesOf(method, path, declared);
  const isKeyed = declared.scope !== "public" && declared.scope !== "outside";
  const body = requestBody(declared, components);
  return {
    operationId: declared.id,
    tags: [section.tag],
    summary: declared.summary,
    description: declared.description,
    ...access(method, path, declared),
    parameters: parametersOf(method, path, declared, section, components),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      ...successes(declared, { isKeyed, isRepeatable: isUnderV1(name) }, components),
      ...(declared.scope === "outside" ? errorsOutside(codes) : errorResponses(codes)),
    },
  };
}

/** The key or the session that the operation takes. */
function access(
  method: string,
  path: string,
  { scope, session }: Operation,
): Pick<PublishedOperation, "x-scope" | "security"> {
  if (scope === "public" || scope === "outside") return { security: [] };
  if (session !== true) return { "x-scope": scope ?? (path.startsWith("/v1/admin/") ? "admin" : "messages") };
  return { "x-scope": "session", security: [{ session: [], ...(method === "GET" ? {} : { csrf: [] }) }] };
}

/** Operations outside `/v1` have every status but those of requests that reach no route. */
function errorsOutside(codes: Parameters<typeof errorResponses>[0]) {
  const { default: unrouted, ...own } = errorResponses(codes);
  return { ...own, ...(unrouted === undefined ? {} : { "4XX": unrouted }) };
}

function requestBody(
  { body, bodyExample }: Operation,
  components: Components,
): NonNullable<PublishedOperation["requestBody"]> | null {
  if (body === undefined) return null;
  const { type, required = [], [SHOWN]: shown = {} } = body as unknown as PublishedSchema;
  const example = bodyExample === undefined ? {} : { example: bodyExample };
  return {
    // A rule that requires one of several fields is among the shown keywords.
    required: type === "array" || required.length > 0 || "allOf" in (shown as object),
    content: { "application/json": { schema: publish(body, components), ...example } },
  };
}

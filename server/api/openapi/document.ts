/** The OpenAPI 3.1 document: the declared routes, and what the nouns' files say of them. Pure; made once. */

import type { Route } from "../route.ts";
import { customers, instances, keys, usage } from "./admin.ts";
import { type Answer, codesOf, commonRefusals, HEADERS, type Header, refusals, successes } from "./answers.ts";
import { attachments } from "./attachments.ts";
import { calls } from "./calls.ts";
import { chats } from "./chats.ts";
import { contacts } from "./contacts.ts";
import { events } from "./events.ts";
import { INTRODUCTION } from "./introduction.ts";
import { messages } from "./messages.ts";
import { DELIVERY_PARAMETERS, eventSchemas, type Notification, notification } from "./notifications.ts";
import type { Operation, RouteName, Section } from "./operation.ts";
import { PARAMETERS, type Parameter, parametersOf } from "./parameters.ts";
import { payments } from "./payments.ts";
import { reach } from "./reach.ts";
import { sandbox } from "./sandbox.ts";
import { type Components, type PublishedSchema, publishAs } from "./schema.ts";
import { service } from "./service.ts";
import { deliveries, webhooks } from "./webhooks.ts";

/** The parts of the reference, in the order in which a reader meets them. */
export const SECTIONS: readonly Section[] = [
  messages,
  chats,
  contacts,
  reach,
  attachments,
  payments,
  calls,
  webhooks,
  deliveries,
  events,
  sandbox,
  usage,
  customers,
  keys,
  instances,
  service,
];

/** An operation of the document. */
export interface PublishedOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  /** Whose keys it takes: of a customer, of an admin, or both; absent where none is asked for. */
  "x-scope"?: Route["scope"];
  security?: Record<string, string[]>[];
  parameters: (Parameter | PublishedSchema)[];
  requestBody?: { required: boolean; content: Record<string, { schema: PublishedSchema; example?: unknown }> };
  responses: Record<string, Answer | PublishedSchema>;
}

/** An OpenAPI 3.1 document, as far as it is read here. */
export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: { name: string } };
  servers: { url: string }[];
  security: Record<string, string[]>[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, PublishedOperation>>;
  webhooks: Record<string, { post: Notification }>;
  components: {
    securitySchemes: Record<string, unknown>;
    schemas: Record<string, PublishedSchema>;
    responses: Record<string, Answer>;
    headers: Record<string, Header>;
    parameters: Record<string, Parameter>;
  };
}

/** Makes the document of these routes. Throws for two schemas of one name. */
export function buildDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const components: Components = new Map();
  const responses = commonRefusals(components);
  const byName = new Map(routes.map((route) => [nameOf(route), route]));
  const paths: OpenApiDocument["paths"] = {};
  for (const section of SECTIONS) {
    for (const [name, told] of Object.entries(section.operations) as [RouteName, Operation][]) {
      const route = byName.get(name) ?? null;
      if (route === null && isUnderV1(name)) continue;
      const { method, path } = parts(name);
      const template = templateOf(path);
      const item = paths[template] ?? {};
      paths[template] = { ...item, [method.toLowerCase()]: publishOperation(name, told, section, route, components) };
    }
  }
  const happenings = SECTIONS.flatMap((section) => section.events ?? []);
  const told = JSON.stringify(paths);
  const referred = Object.entries(responses).filter(([name]) => told.includes(`/responses/${name}"`));
  const notified = happenings.map((one) => [one.type, { post: notification(one) }] as const);
  eventSchemas(happenings, components);
  return {
    openapi: "3.1.1",
    info: {
      title: "Tightbeam",
      version,
      summary: "iMessage with SMS fallback behind one API, and signed webhooks that never get lost.",
      description: INTRODUCTION,
      license: { name: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: SECTIONS.map(({ tag, description }) => ({ name: tag, description })),
    paths,
    webhooks: Object.fromEntries(notified),
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A key: `tb_` and 32 or more letters and digits." },
      },
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: Object.fromEntries(referred),
      headers: { ...HEADERS },
      parameters: { ...PARAMETERS, ...DELIVERY_PARAMETERS },
    },
  };
}

/** What is not told of, and what is told of and not there: both empty when the reference is whole. */
export function gapsOf(routes: readonly Route[]): { untold: string[]; unserved: string[] } {
  const served = routes.map(nameOf);
  const told: string[] = SECTIONS.flatMap((section) => Object.keys(section.operations));
  return {
    untold: served.filter((name) => !told.includes(name)),
    unserved: told.filter((name) => isUnderV1(name) && !served.some((one) => one === name)),
  };
}

function nameOf({ method, path }: Route): RouteName {
  return `${method} ${path as `/${string}`}`;
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
  told: Operation,
  section: Section,
  route: Route | null,
  components: Components,
): PublishedOperation {
  const { method, path } = parts(name);
  const codes = route === null ? (told.errors ?? []) : codesOf(route, told);
  const isKeyed = route !== null && route.scope !== "public";
  const body = requestBody(told, route, components);
  return {
    operationId: told.id,
    tags: [section.tag],
    summary: told.summary,
    description: told.description,
    ...(isKeyed ? { "x-scope": route.scope } : { security: [] }),
    parameters: parametersOf(method, path, told, section, route, components),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      ...successes(told, isKeyed, components),
      ...(route === null ? refusalsBeside(codes) : refusals(codes)),
    },
  };
}

/** What lies beside `/v1` has no `default`: its refusals are all there are. */
function refusalsBeside(codes: Parameters<typeof refusals>[0]) {
  const { default: _, ...own } = refusals(codes);
  return own;
}

function requestBody(
  told: Operation,
  route: Route | null,
  components: Components,
): NonNullable<PublishedOperation["requestBody"]> | null {
  if (route === null || route.body === null) return null;
  const name = `${told.id[0]?.toUpperCase()}${told.id.slice(1)}`;
  const declared = route.body as typeof route.body & Pick<PublishedSchema, "type" | "properties" | "required">;
  const schema =
    told.parts === undefined ? declared : { ...declared, properties: { ...declared.properties, ...told.parts } };
  const example = told.body === undefined ? {} : { example: told.body };
  return {
    required: declared.type === "array" || (declared.required ?? []).length > 0,
    content: { "application/json": { schema: publishAs(schema, name, components), ...example } },
  };
}

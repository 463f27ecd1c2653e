/** Parameters of operations: from the path, the query's schema, and the headers that all or some have. Pure. */

import type { Route } from "../route.ts";
import type { Operation, Section } from "./operation.ts";
import { CORRELATION_ID } from "./samples.ts";
import { type Components, type PublishedSchema, publish } from "./schema.ts";

/** A parameter as OpenAPI has it. */
export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description: string;
  schema: PublishedSchema;
  example?: unknown;
  [extension: `x-${string}`]: unknown;
}

/** Headers of requests: components of the document. */
export const PARAMETERS: Readonly<Record<string, Parameter>> = {
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    description: "Your own name of the request, echoed in `requestId`. Anything of another form is replaced.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._:-]{1,128}$" },
  },
  CorrelationId: {
    name: "X-Correlation-Id",
    in: "header",
    description: "Sent on every webhook that the request leads to. One is made when there is none.",
    schema: { type: "string", pattern: "^cor_[0-9a-fA-F]{32}$" },
    example: CORRELATION_ID,
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes a repeat safe: the same request with the same key answers the first record, with 200, for 30 days. `idempotencyKey` in the body is the same.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
    example: "order-1001",
  },
};

function shared(name: keyof typeof PARAMETERS): PublishedSchema {
  return { $ref: `#/components/parameters/${name}` };
}

/** All parameters of one operation. Throws for a parameter of the path that its section does not describe. */
export function parametersOf(
  method: string,
  path: string,
  told: Operation,
  section: Section,
  route: Route | null,
  components: Components,
): (Parameter | PublishedSchema)[] {
  const named = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => inPath(name, section));
  const found = [...named, ...inQuery(told, route, components), ...inHeaders(told)];
  if (route === null) return found;
  const keyed = method === "POST" ? [shared("IdempotencyKey")] : [];
  return [...found, ...keyed, shared("RequestId"), shared("CorrelationId")];
}

function inPath(name: string, { tag, parameters = {} }: Section): Parameter {
  const parameter = parameters[name];
  if (parameter === undefined) throw new Error(`${tag} does not say what :${name} is`);
  const schema = { type: "string", minLength: 1, maxLength: 512 };
  return { name, in: "path", required: true, ...parameter, schema };
}

function inQuery({ id, query = {} }: Operation, route: Route | null, components: Components): Parameter[] {
  if (route === null || route.query === null) return [];
  const name = `${id[0]?.toUpperCase()}${id.slice(1)}`;
  const { properties = {}, required = [] } = publish(route.query, name, components);
  return Object.entries(properties).map(([field, { description = "", ...schema }]) => {
    const given = query[field];
    const example = given === undefined ? {} : { example: schema.type === "integer" ? Number(given) : given };
    // A default fills it in, so that it is not asked for.
    const isRequired = required.includes(field) && schema.default === undefined;
    return { name: field, in: "query", ...(isRequired ? { required: true } : {}), description, schema, ...example };
  });
}

function inHeaders({ headers = {} }: Operation): Parameter[] {
  return Object.entries(headers).map(([name, { description, example }]) => {
    return { name, in: "header", description, schema: { type: "string" }, example };
  });
}

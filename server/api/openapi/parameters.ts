/** Parameters of operations: from the path, the query's schema, and the headers that all or some have. Pure. */

import type { Operation, Section } from "../../../contract/operation.ts";
import { CORRELATION_ID } from "../../../contract/samples.ts";
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
    description:
      "Your own id of the request, returned as `requestId`: 1 to 128 letters, digits and `._:-`. Any other value is replaced by a generated id.",
    schema: { type: "string" },
    example: "order-1001",
  },
  CorrelationId: {
    name: "X-Correlation-Id",
    in: "header",
    description:
      "Sent with every webhook that the request leads to: `cor_` and 32 hexadecimal digits. Any other value is replaced by a generated id.",
    schema: { type: "string" },
    example: CORRELATION_ID,
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes a repeat of the request safe: for 30 days, the same request with the same key returns the first record with 200. `idempotencyKey` in the body does the same.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~](?:[ -~]*[!-~])?$" },
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
  declared: Operation,
  section: Section,
  components: Components,
): (Parameter | PublishedSchema)[] {
  const named = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => inPath(name, section));
  const found = [...named, ...inQuery(declared, components), ...inHeaders(declared)];
  if (declared.scope === "outside") return found;
  const keyed = method === "POST" && path.startsWith("/v1/") ? [shared("IdempotencyKey")] : [];
  return [...found, ...keyed, shared("RequestId"), shared("CorrelationId")];
}

function inPath(name: string, { tag, parameters = {} }: Section): Parameter {
  const parameter = parameters[name];
  if (parameter === undefined) throw new Error(`${tag} does not say what :${name} is`);
  const { pattern, ...shown } = parameter;
  const schema = { type: "string", minLength: 1, maxLength: 512, ...(pattern === undefined ? {} : { pattern }) };
  return { name, in: "path", required: true, ...shown, schema };
}

function inQuery({ query, queryExample = {} }: Operation, components: Components): Parameter[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = publish(query, components);
  return Object.entries(properties).map(([field, { description = "", ...schema }]) => {
    const given = queryExample[field];
    const example = given === undefined ? {} : { example: isNumeric(schema) ? Number(given) : given };
    // A default makes it optional.
    const isRequired = required.includes(field) && schema.default === undefined;
    return { name: field, in: "query", ...(isRequired ? { required: true } : {}), description, schema, ...example };
  });
}

function isNumeric({ type }: PublishedSchema): boolean {
  return type === "integer" || type === "number";
}

function inHeaders({ headers = {} }: Operation): Parameter[] {
  return Object.entries(headers).map(([name, { description, example }]) => {
    return { name, in: "header", description, schema: { type: "string" }, example };
  });
}

/** The OpenAPI document under test: it is whole, it is sound, its examples are what it says, and so are the answers. */

import assert from "node:assert/strict";
import test from "node:test";
import type { TSchema } from "typebox";
import { SetQuietHours, SetRoutes } from "../contract/customers.ts";
import { errorSentences } from "../contract/errors.ts";
import { ReactionCommand } from "../contract/messages.ts";
import { AmountText } from "../contract/payments.ts";
import { SECTIONS } from "../contract/reference.ts";
import { SHOWN } from "../contract/schema.ts";
import { Address, Phone } from "../contract/values.ts";
import { ERROR_STATUS, EVENT_TYPES } from "../sdk/wire.ts";
import type { OpenApiDocument, PublishedOperation } from "../server/api/openapi/document.ts";
import type { Parameter } from "../server/api/openapi/parameters.ts";
import type { PublishedResponse } from "../server/api/openapi/responses.ts";
import type { PublishedSchema } from "../server/api/openapi/schema.ts";
import { FORMATS } from "../server/api/pipeline/formats.ts";
import { compileCheck } from "../server/api/pipeline/validate.ts";
import { assertAnswered, createValidator, readDocument } from "./support/contract.ts";
import { listDescribedRoutes } from "./support/routes.ts";

const routes = await listDescribedRoutes();
const document = readDocument();
const validator = createValidator(document);

interface Listed {
  template: string;
  method: string;
  operation: PublishedOperation;
}

const OPERATIONS: readonly Listed[] = Object.entries(document.paths).flatMap(([template, item]) =>
  Object.entries(item).map(([method, operation]) => ({ template, method, operation })),
);

test("every declared route has an operation with the same key, query and body, and no operation is without its route", () => {
  const declared = SECTIONS.flatMap(({ operations }) => Object.entries(operations)).filter(
    ([, { scope }]) => scope !== "outside",
  );
  const byName = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
  assert.deepEqual(declared.map(([name]) => name).sort(), [...byName.keys()].sort());
  for (const [name, { scope, query, body }] of declared) {
    const route = byName.get(name) ?? assert.fail(name);
    assert.equal(scope ?? (name.includes(" /v1/admin/") ? "admin" : "messages"), route.scope, name);
    assert.equal(query ?? null, route.query, `${name} has another query`);
    assert.equal(body ?? null, route.body, `${name} has another body`);
  }
});

test("the document's webhooks are exactly the event types", () => {
  assert.deepEqual(Object.keys(document.webhooks).sort(), [...EVENT_TYPES].sort());
});

test("generators of clients can give every type and function a name of its own, in Go and in Python", () => {
  const words = (name: string) => name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+/).filter((word) => word !== "");
  const inGo = (name: string) =>
    words(name)
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join("");
  const inPython = (name: string) => words(name).join("_").toLowerCase();
  const schemas = document.components.schemas as Record<string, PublishedSchema>;
  const types = Object.keys(schemas);
  const functions = OPERATIONS.map(({ operation }) => operation.operationId);
  for (const named of [inGo, inPython]) {
    for (const names of [types, functions]) assert.equal(new Set(names.map(named)).size, names.length);
  }
  const listsOf = ({ oneOf, anyOf }: PublishedSchema) => [oneOf, anyOf].filter((list) => list !== undefined);
  for (const name of types) {
    const schema = schemas[name] ?? {};
    const inside = (schema.allOf ?? []) as PublishedSchema[];
    // oapi-codegen numbers the alternatives of all lists of a schema alike: `AddNumber0` would be there twice.
    assert.ok([schema, ...inside].flatMap(listsOf).length <= 1, `${name} has two lists of alternatives`);
    // openapi-python-client takes an object with alternatives beside its fields for their union, and writes code that is none.
    if (schema.properties !== undefined)
      assert.deepEqual(listsOf(schema), [], `${name} has alternatives beside its fields`);
  }
});

/** Every value of the document, with a JSON pointer to it. */
function* walk(value: unknown, pointer = ""): Generator<{ pointer: string; value: Record<string, unknown> }> {
  if (typeof value !== "object" || value === null) return;
  yield { pointer, value: value as Record<string, unknown> };
  for (const [name, inner] of Object.entries(value)) {
    if (name === "example" || name === "examples") continue;
    yield* walk(inner, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

function resolve(pointer: string): unknown {
  let value: unknown = document;
  for (const step of pointer.split("/").slice(1)) {
    value = (value as Record<string, unknown>)[step.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return value;
}

test("every $ref has a target, and every component has a $ref", () => {
  const used = new Set<string>();
  for (const { pointer, value } of walk(document)) {
    const { $ref } = value;
    if (typeof $ref !== "string") continue;
    used.add($ref);
    assert.ok(resolve($ref.slice(1)) !== undefined, `${pointer} refers to ${$ref}`);
  }
  const mapped = [...walk(document)].flatMap(({ value }) => Object.values(value.mapping ?? {}) as string[]);
  for (const target of mapped) assert.ok(used.has(target), target);
  for (const [kind, components] of Object.entries(document.components)) {
    if (kind === "securitySchemes") continue;
    for (const name of Object.keys(components)) {
      assert.ok(used.has(`#/components/${kind}/${name}`), `nothing refers to the ${kind} ${name}`);
    }
  }
});

test("component names are valid in OpenAPI", () => {
  for (const components of Object.values(document.components)) {
    for (const name of Object.keys(components)) assert.match(name, /^[A-Za-z0-9._-]+$/);
  }
});

test("every operation and every webhook has a unique id", () => {
  const ids = OPERATIONS.map(({ operation }) => operation.operationId);
  const all = [...ids, ...Object.values(document.webhooks).map(({ post }) => post.operationId)];
  assert.deepEqual(all, [...new Set(all)]);
  for (const id of all) assert.match(id, /^[a-z][A-Za-z]+$/);
});

test("every tag of an operation is described, and every described tag is used", () => {
  const tags = document.tags.map(({ name }) => name);
  assert.deepEqual(tags, [...new Set(tags)]);
  const used = new Set(OPERATIONS.flatMap(({ operation }) => operation.tags));
  assert.deepEqual([...used].sort(), tags.sort());
});

function parameterOf(parameter: Parameter | PublishedSchema): Parameter {
  return ("$ref" in parameter ? resolve(String(parameter.$ref).slice(1)) : parameter) as Parameter;
}

test("every path parameter is declared and required, and no parameter is declared twice", () => {
  for (const { template, method, operation } of OPERATIONS) {
    const parameters = operation.parameters.map(parameterOf);
    const inPath = parameters.filter((parameter) => parameter.in === "path");
    const named = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(
      inPath.map(({ name }) => name),
      named,
      `${method} ${template}`,
    );
    assert.ok(inPath.every(({ required }) => required));
    const places = parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
    assert.deepEqual(places, [...new Set(places)], `${method} ${template}`);
  }
});

test("no two paths differ in the names of their parameters only for the same method", () => {
  const shapes = OPERATIONS.map(({ template, method }) => `${method} ${template.replace(/\{\w+\}/g, "{}")}`);
  assert.deepEqual(shapes, [...new Set(shapes)]);
});

test("every POST under /v1 accepts an idempotency key, and no other method does", () => {
  for (const { template, method, operation } of OPERATIONS) {
    const takes = operation.parameters.some((parameter) => parameterOf(parameter).name === "Idempotency-Key");
    assert.equal(takes, method === "post" && template.startsWith("/v1/"), `${method} ${template}`);
  }
});

test("an operation has a request body if and only if its route declares one", () => {
  for (const { method, path, body } of routes) {
    const template = path.replace(/:(\w+)/g, "{$1}");
    const operation = document.paths[template]?.[method.toLowerCase()];
    assert.equal(operation?.requestBody !== undefined, body !== null, `${method} ${path}`);
  }
});

test("every field, parameter and header is described in a sentence", () => {
  const silent: string[] = [];
  for (const { pointer, value } of walk(document)) {
    if (typeof value.properties === "object" && !/\/responses\/|\/allOf\//.test(pointer)) {
      for (const [name, field] of Object.entries(value.properties as Record<string, PublishedSchema>)) {
        if (!/[.)]$/.test(field.description ?? "")) silent.push(`${pointer} ${name}`);
      }
    }
    if (typeof value.in === "string" && !/\.$/.test(String(value.description))) silent.push(pointer);
  }
  assert.deepEqual(silent, []);
});

test("the document's patterns accept every value that the service's own checks accept", () => {
  const samples: Record<string, [schema: TSchema, values: string[]]> = {
    address: [
      Address,
      ["+15005550100", "+12", "Ada@example.com", "a.b+c@x-y.example.co", "x@y.z1", "x@1a.1b", "o'b{r}+1@sub.1-a.co"],
    ],
    phone: [Phone, ["+15005550100", "+12", "+123456789012345"]],
    amount: [AmountText, ["0.01", "0.1", "0.99", "1", "25.00", "999999.99", "10.5"]],
    reaction: [ReactionCommand, ["love", "-question", "👍", "-👍🏽", "❤", "❤️", "1️⃣", "🇩🇪", "👨‍👩‍👧‍👦", "‼️", "©️"]],
    clockTime: [SetQuietHours.properties.start, ["00:00", "09:30", "23:59"]],
    prefix: [SetRoutes.items.properties.prefix, ["+", "+44", "+123456789012345"]],
    timeZone: [
      SetQuietHours.properties.timeZone,
      ["UTC", "America/New_York", "America/Argentina/Buenos_Aires", "Etc/GMT+5"],
    ],
  };
  for (const [format, [schema, values]] of Object.entries(samples)) {
    const { pattern } = (schema as unknown as Record<string, { pattern: string }>)[SHOWN] ?? assert.fail(format);
    for (const value of values) {
      assert.ok(FORMATS[format]?.validate(value), `the service refuses the ${format} ${value}`);
      assert.match(value, new RegExp(pattern, "u"), format);
    }
  }
});

test("every link names an operation and gives every parameter of its path", () => {
  const byId = new Map(OPERATIONS.map(({ template, operation }) => [operation.operationId, template]));
  const links = OPERATIONS.flatMap(({ operation }) =>
    Object.values(operation.responses).flatMap((response) =>
      Object.values((response as PublishedResponse).links ?? {}),
    ),
  );
  assert.ok(links.length > 30);
  for (const { operationId, parameters } of links) {
    const template = byId.get(operationId) ?? assert.fail(`a link leads to ${operationId}`);
    const named = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(Object.keys(parameters).sort(), named.sort(), operationId);
  }
});

test("the aliases of fields are those that requests accept", () => {
  const aliases = [...walk(document)].flatMap(({ pointer, value }) =>
    value["x-synonymOf"] === undefined
      ? []
      : [pointer.replace("/components/schemas/", "").replaceAll("/properties", "")],
  );
  assert.deepEqual(aliases.sort(), [
    "AddParticipant/phoneNumber",
    "EditMessage/content",
    "EditMessage/content/text",
    "React/reaction",
    "SendCarousel/conversationId",
    "SendMessage/content/mediaUrl",
    "SendMessage/conversationId",
    "UpdateMessage/content/mediaUrl",
  ]);
});

test("an alias is deprecated, and is in no response", () => {
  for (const { pointer, value } of walk(document.components.schemas)) {
    if (value["x-synonymOf"] === undefined) continue;
    assert.equal(value.deprecated, true);
    const name = pointer.split("/")[1] ?? "";
    const answered = OPERATIONS.some(({ operation }) => JSON.stringify(operation.responses).includes(`/${name}"`));
    assert.ok(!answered, `${pointer} is answered`);
  }
});

test("every operation has a short summary and a description that ends in a full stop", () => {
  for (const { operation } of OPERATIONS) {
    const { operationId, summary, description } = operation;
    assert.match(summary, /^[A-Z].*[^.]$/, operationId);
    assert.match(description, /\.$/, operationId);
    assert.ok(summary.length <= 60, operationId);
  }
});

test("every error code has a description, and is in the responses that can carry it", () => {
  assert.deepEqual(Object.keys(errorSentences), Object.keys(ERROR_STATUS));
  const text = JSON.stringify([document.paths, document.components.responses]);
  for (const code of Object.keys(ERROR_STATUS)) assert.ok(text.includes(`"${code}"`), `${code} is nowhere`);
});

test("a response is listed under the status of its codes", () => {
  const answers = OPERATIONS.flatMap(({ template, operation }) =>
    Object.entries(operation.responses).map(([status, answer]) => ({ template, status, answer })),
  );
  for (const { template, status, answer } of answers) {
    if (status === "default" || status === "4XX" || status < "400") continue;
    const full = ("$ref" in answer ? resolve(String(answer.$ref).slice(1)) : answer) as typeof answer;
    const codes = (full as PublishedResponse)["x-codes"] ?? assert.fail(`${template} ${status} has no codes`);
    for (const code of codes) {
      assert.equal(ERROR_STATUS[code], Number(status), `${template} ${code}`);
    }
  }
});

test("every operation has an example of each success, and the example is valid", () => {
  for (const { template, method, operation } of OPERATIONS) {
    const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
    const examples = successes.flatMap(([status, answer]) =>
      Object.entries((answer.content ?? {}) as Record<string, { example?: unknown }>).map(([type, content]) => ({
        pointer: `/paths/${encodeURI(template.replaceAll("/", "~1"))}/${method}/responses/${status}/content/${type.replace("/", "~1")}/schema`,
        ...content,
      })),
    );
    const given = examples.filter(({ example }) => example !== undefined);
    // The bytes of a file are no example of anything.
    if (operation.operationId !== "downloadAttachment") assert.ok(given.length > 0, `${method} ${template}`);
    for (const { pointer, example } of given) validator.assertValid(pointer, example, `the example of ${pointer}`);
  }
});

test("every request body has an example, and the service's own check accepts it", () => {
  for (const section of SECTIONS) {
    for (const [name, { body, bodyExample }] of Object.entries(section.operations)) {
      if (body === undefined) {
        assert.equal(bodyExample, undefined, `${name} takes no body`);
        continue;
      }
      const fields = Object.keys((body as unknown as PublishedSchema).properties ?? {});
      if (bodyExample === undefined) assert.deepEqual(fields, ["idempotencyKey"], `${name} has no example of a body`);
      else assert.deepEqual(compileCheck("body", body)(structuredClone(bodyExample)), [], name);
    }
  }
});

test("every example of a request body is valid in the document, including fields that the service checks later", () => {
  for (const { template, method, operation } of OPERATIONS) {
    const example = operation.requestBody?.content["application/json"]?.example;
    if (example === undefined) continue;
    const pointer = `/paths/${encodeURI(template.replaceAll("/", "~1"))}/${method}/requestBody/content/application~1json/schema`;
    validator.assertValid(pointer, example, `the body of ${method} ${template}`);
  }
});

test("every example of a query is valid for the service", () => {
  for (const section of SECTIONS) {
    for (const [name, { query = null, queryExample }] of Object.entries(section.operations)) {
      if (queryExample !== undefined) assert.deepEqual(compileCheck("query", query)({ ...queryExample }), [], name);
    }
  }
});

test("every event has an example, and the example is valid", () => {
  for (const [type, { post }] of Object.entries(document.webhooks)) {
    const { schema, example } = post.requestBody.content["application/json"] ?? assert.fail(type);
    assert.equal((example as { type: string }).type, type);
    validator.assertValid(String(schema.$ref).slice(1), example, type);
    validator.assertValid("/components/schemas/Event", example, type);
  }
});

test("every example of an error response is valid", () => {
  for (const [name, answer] of Object.entries(document.components.responses)) {
    const { example } = answer.content?.["application/json"] ?? assert.fail(name);
    const pointer = `/components/responses/${name}/content/application~1json/schema`;
    validator.assertValid(pointer, example, name);
  }
});

test("assertAnswered detects a response that the document does not allow", () => {
  const requestId = "req_1";
  const refused = (code: string) => ({ success: false, error: { code, message: "x" }, requestId });
  const deleted = (data: unknown) => ({ success: true, data, requestId });
  const path = "/v1/contacts/con_1";
  assertAnswered("DELETE", path, 200, deleted({ id: "con_1", deleted: true }));
  assertAnswered("DELETE", path, 404, refused("NOT_FOUND"));
  assertAnswered("POST", "/v1/nowhere", 404, refused("NOT_FOUND"));
  for (const [status, envelope] of [
    [200, deleted({ id: "con_1", deleted: false })],
    [200, deleted({ id: "con_1", deleted: true, more: 1 })],
    [200, { ...deleted({ id: "con_1", deleted: true }), more: 1 }],
    [202, deleted({ id: "con_1", deleted: true })],
    [404, refused("REPLY_NOT_FOUND")],
    [404, { ...refused("NOT_FOUND"), more: 1 }],
    [404, deleted({ id: "con_1", deleted: true })],
  ] as const) {
    assert.throws(() => assertAnswered("DELETE", path, status, envelope), JSON.stringify([status, envelope]));
  }
});

test("the document is plain JSON, names its OpenAPI version, and names no host", () => {
  const text = JSON.stringify(document);
  assert.deepEqual(JSON.parse(text), document);
  assert.match(document.openapi, /^3\.1\.\d$/);
  assert.deepEqual(document.servers satisfies OpenApiDocument["servers"], [{ url: "/" }]);
});

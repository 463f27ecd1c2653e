import assert from "node:assert/strict";
import { test } from "node:test";
import fastify from "fastify";
import { addClientPackage } from "./client-package.ts";

test("however many ask for the client, it is read once, and its ETag names its version", async () => {
  let reads = 0;
  const app = fastify();
  const readClient = async () => Buffer.from(`read ${++reads}`);
  addClientPackage(app, { version: "1.2.3", readClient, log: { warn: assert.fail } });
  const answers = await Promise.all([1, 2, 3].map(() => app.inject("/sdk.tgz")));
  assert.deepEqual(
    answers.map(({ statusCode, body }) => [statusCode, body]),
    Array(3).fill([200, "read 1"]),
  );
  const etag = String(answers[0]?.headers.etag);
  assert.match(etag, /^"1\.2\.3-[\w-]{22}"$/);
  const known = await app.inject({ url: "/sdk.tgz", headers: { "if-none-match": etag } });
  assert.deepEqual([known.statusCode, known.body, reads], [304, "", 1]);
  await app.close();
});

test("a client that cannot be packed is a 503 and one line of the log, and is not tried again", async () => {
  const lines: unknown[] = [];
  let reads = 0;
  const app = fastify();
  const readClient = () => {
    reads += 1;
    return Promise.reject(new Error("npm is not here"));
  };
  const warn = (_: string, fields?: object) => void lines.push(fields);
  addClientPackage(app, { version: "1.2.3", readClient, log: { warn } });
  app.setErrorHandler((error, _, reply) => reply.code((error as { status: number }).status).send());
  for (let asked = 0; asked < 3; asked += 1) assert.equal((await app.inject("/sdk.tgz")).statusCode, 503);
  assert.deepEqual([reads, lines.length], [1, 1]);
  assert.match(JSON.stringify(lines), /npm is not here/);
  await app.close();
});

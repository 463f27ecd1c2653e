/** The served reference and `docs/api.md`: both equal the document, and the page loads nothing from elsewhere. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { ERROR_STATUS, EVENT_TYPES } from "../sdk/wire.ts";
import { API_DOCS, renderApiDocs } from "./support/api-docs.ts";
import { readDocument } from "./support/contract.ts";
import { startTestService } from "./support/service.ts";

const api = await startTestService();
test.after(() => api.stop());
const document = await readDocument();

const get = (path: string, headers: Record<string, string> = {}) => fetch(api.url + path, { headers });
const page = await get("/docs").then((answer) => answer.text());

test("docs/api.md is what the document says: write it anew with npm run docs", () => {
  assert.equal(readFileSync(API_DOCS, "utf8"), renderApiDocs(document));
});

test("docs/api.md has every route and every event", () => {
  const text = readFileSync(API_DOCS, "utf8");
  for (const [template, item] of Object.entries(document.paths)) {
    const path = template.replace(/\{(\w+)\}/g, ":$1");
    for (const method of Object.keys(item)) assert.ok(text.includes(`\`${method.toUpperCase()} ${path}\``), path);
  }
  for (const type of EVENT_TYPES) assert.ok(text.includes(`| \`${type}\` |`), type);
});

test("/openapi.json serves the OpenAPI document without a key", async () => {
  const answer = await get("/openapi.json");
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  assert.deepEqual(await answer.json(), document);
});

test("every documented path outside /v1 is served", async () => {
  for (const path of Object.keys(document.paths).filter((one) => !one.startsWith("/v1/"))) {
    const answer = await get(path);
    assert.equal(answer.status, 200, path);
    const types = Object.keys(document.paths[path]?.get?.responses["200"]?.content ?? {});
    assert.deepEqual([answer.headers.get("content-type")?.split(";")[0]], types, path);
  }
});

for (const path of ["/openapi.json", "/docs", "/llms.txt"]) {
  test(`${path} responds with 304 to a known ETag, to HEAD with its length, and to POST with 405`, async () => {
    const plain = { "accept-encoding": "identity" };
    const first = await get(path, plain);
    const etag = first.headers.get("etag") ?? assert.fail("no ETag");
    const bytes = (await first.arrayBuffer()).byteLength;
    const again = await get(path, { ...plain, "if-none-match": etag });
    assert.deepEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", etag]);
    assert.equal((await get(path, { ...plain, "if-none-match": `"other", W/${etag}` })).status, 304);
    assert.equal((await get(path, { "if-none-match": '"other"' })).status, 200);
    const head = await fetch(api.url + path, { method: "HEAD", headers: plain });
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, String(bytes)]);
    assert.equal((await fetch(api.url + path, { method: "POST" })).status, 405);
  });
}

test("the reference is compressed for clients that accept it, and each encoding has an ETag of its own", async () => {
  for (const path of ["/openapi.json", "/docs", "/llms.txt"]) {
    const plain = await get(path, { "accept-encoding": "identity" });
    const [text, tag] = [await plain.text(), plain.headers.get("etag")];
    assert.equal(plain.headers.get("content-encoding"), null);
    assert.equal(plain.headers.get("vary"), "Accept-Encoding");
    for (const encoding of ["br", "gzip"]) {
      const packed = await get(path, { "accept-encoding": encoding });
      assert.equal(packed.headers.get("content-encoding"), encoding);
      assert.ok(Number(packed.headers.get("content-length")) < text.length / 2, path);
      assert.equal(await packed.text(), text);
      const etag = packed.headers.get("etag") ?? assert.fail("no ETag");
      assert.notEqual(etag, tag);
      const again = await get(path, { "accept-encoding": encoding, "if-none-match": etag });
      assert.deepEqual([again.status, again.headers.get("etag")], [304, etag]);
      assert.equal((await get(path, { "accept-encoding": "identity", "if-none-match": etag })).status, 200);
    }
  }
});

test("the page loads nothing: no address of another host, and a policy that would refuse one", async () => {
  const { headers } = await get("/docs");
  assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
  const policy = headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; /);
  assert.doesNotMatch(policy, /https?:|\*|unsafe|data:|'self'/);
  assert.doesNotMatch(
    page,
    /<(link|img|iframe|object|embed|base|form|meta http-equiv)\b|\bsrc=|@import|url\(|\bon\w+=/i,
  );
  for (const [, target = ""] of page.matchAll(/href="([^"]*)"/g)) assert.match(target, /^(#[\w.-]+|\/[\w.]+)$/);
});

test("the page's own style and script are the ones that its policy names", async () => {
  const policy = (await get("/docs")).headers.get("content-security-policy") ?? "";
  for (const element of ["style", "script"]) {
    const found = [...page.matchAll(new RegExp(`<${element}>(.*?)</${element}>`, "gs"))];
    assert.equal(found.length, 1);
    const hash = createHash("sha256")
      .update(found[0]?.[1] ?? "")
      .digest("base64");
    assert.ok(policy.includes(`${element}-src 'sha256-${hash}'`), element);
  }
});

test("every link within the page has a target, and no id is repeated", () => {
  const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assert.deepEqual(ids, [...new Set(ids)]);
  for (const [, target = ""] of page.matchAll(/href="#([^"]*)"/g)) assert.ok(ids.includes(target), target);
});

test("the page shows every operation with its command, every event, and every error code", () => {
  for (const item of Object.values(document.paths)) {
    for (const { operationId, summary } of Object.values(item)) {
      assert.ok(page.includes(`id="${operationId}"`), operationId);
      assert.ok(page.includes(summary), summary);
    }
  }
  for (const type of EVENT_TYPES) assert.ok(page.includes(`<code>${type}</code>`), type);
  for (const code of Object.keys(ERROR_STATUS)) assert.ok(page.includes(`<code>${code}</code>`), code);
  const commands = page.match(/<code>curl [^<]*/g) ?? [];
  assert.equal(commands.length, Object.values(document.paths).flatMap((item) => Object.values(item)).length);
  for (const command of commands) {
    assert.ok(command.includes(api.url), command);
    assert.doesNotMatch(command, /undefined|\{\w+\}/);
  }
});

test("/llms.txt speaks of paths, events and codes that exist, at this address, and leaves no event out", async () => {
  const text = await get("/llms.txt").then((answer) => answer.text());
  const paths = Object.keys(document.paths).map((path) => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`));
  const mentioned = [...text.matchAll(new RegExp(`${api.url}(/[^\\s"?)]*)`, "g"))].map(([, path = ""]) => path);
  assert.ok(mentioned.length > 10);
  for (const path of mentioned) {
    const bare = path.replace(/[.,;]+$/, "");
    assert.ok(
      paths.some((pattern) => pattern.test(bare)),
      path,
    );
  }
  const listed = /Types: (.*)\./.exec(text)?.[1] ?? "";
  const groups = listed.split("; ").map((group) => group.split(", "));
  const types = groups.flatMap(([first = "", ...others]) => {
    const stem = first.startsWith("chat.") ? "chat" : first.slice(0, first.lastIndexOf("."));
    return [first, ...others.map((other) => `${stem}${other}`)];
  });
  assert.deepEqual(types.sort(), [...EVENT_TYPES].sort());
  for (const [, code = ""] of text.matchAll(/`([A-Z]+_[A-Z_]+)`/g)) assert.ok(code in ERROR_STATUS, code);
});

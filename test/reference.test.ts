/** The served reference and `docs/api.md`: both equal the document. `docs-pages.test.ts` tests the pages of the documentation. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { ERROR_STATUS, EVENT_TYPES } from "../sdk/wire.ts";
import { API_DOCS, renderApiDocs } from "./support/api-docs.ts";
import { readDocument } from "./support/contract.ts";
import { startTestService } from "./support/service.ts";

/** A package with some of the files that the build makes; the page is the shell of none. */
const root = mkdtempSync(join(tmpdir(), "tightbeam-reference-"));
const PAGE = "<p>A page of the documentation.</p>\n".repeat(20);
const MADE = ["docs.html", "docs.md", "docs/search.json", "docs/guides/sending.html", "docs/guides/sending.md"];
for (const path of [...MADE, "llms-full.txt", "404.html"]) {
  const file = join(root, "dist/console/pages", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, PAGE);
}

const api = await startTestService({}, { root });
test.after(async () => {
  await api.stop();
  rmSync(root, { recursive: true });
});
const document = readDocument();

const get = (path: string, headers: Record<string, string> = {}) => fetch(api.url + path, { headers });

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
  const outside = Object.entries(document.paths).filter(([path]) => !path.startsWith("/v1/"));
  for (const [path, { get: read }] of outside) {
    const answer = await get(path);
    const status = read === undefined ? 405 : read["x-scope"] === "session" ? 401 : 200;
    assert.equal(answer.status, status, path);
    if (status !== 200) continue;
    const types = Object.keys(read?.responses["200"]?.content ?? {});
    assert.deepEqual([answer.headers.get("content-type")?.split(";")[0]], types, path);
  }
});

const TEXTS = [
  ...["/openapi.json", "/llms.txt", "/llms-full.txt"],
  ...["/docs", "/docs.md", "/docs/search.json", "/docs/guides/sending", "/docs/guides/sending.md"],
];

for (const path of [...TEXTS, "/sdk.tgz"]) {
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
  for (const path of TEXTS) {
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

test("/llms.txt speaks of paths, events and codes that exist, at this address, and leaves no event out", async () => {
  const text = await get("/llms.txt").then((answer) => answer.text());
  const paths = Object.keys(document.paths).map((path) => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`));
  const mentioned = [...text.matchAll(new RegExp(`${api.url}(/[^\\s"?),]*)`, "g"))].map(([, path = ""]) => path);
  assert.ok(mentioned.length > 10);
  for (const path of mentioned) {
    const bare = path.replace(/[.,;]+$/, "");
    if (bare.startsWith("/docs/")) {
      assert.equal((await get(bare)).status, 200, path);
      continue;
    }
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

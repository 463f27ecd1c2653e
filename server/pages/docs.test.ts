/** The made documentation as it is served: which address leads to which file, with which address of the service, and what no address leads to. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fastify from "fastify";
import { addDocs } from "./docs.ts";
import { SERVICE_URL } from "./service-url.ts";

const MISSING = "There is no such page";

/** Serves the documentation of a package whose build has these files. */
function serve(t: TestContext, files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), "tightbeam-docs-"));
  const directory = join(root, "dist/console/pages");
  for (const name of ["docs/guides", "docs/images"]) mkdirSync(join(directory, name), { recursive: true });
  mkdirSync(join(root, "docs/images"), { recursive: true });
  writeFileSync(join(root, "docs/images/home.webp"), "a picture");
  writeFileSync(join(root, "docs/sandbox.md"), "classified");
  const write = (path: string, text: string) => writeFileSync(join(directory, path), text);
  for (const [path, text] of Object.entries(files)) write(path, text);
  const service = { url: "https://messages.example.com" };
  const app = fastify();
  addDocs(app, { baseUrl: () => service.url, root });
  t.after(async () => {
    await app.close();
    rmSync(root, { recursive: true });
  });
  const get = async (url: string) => {
    const { statusCode: status, headers, body } = await app.inject(url);
    return { status, type: headers["content-type"], headers, body };
  };
  return { get, write, directory, service };
}

const FILES = {
  "docs.html": `at ${SERVICE_URL}, and at ${SERVICE_URL}/docs`,
  "docs.md": "# Entry",
  "docs/guides.html": "guides",
  "docs/guides/sending.html": "sending",
  "docs/guides/sending.md": "# Sending",
  "docs/search.json": "[]",
  "llms-full.txt": `at ${SERVICE_URL}`,
  "404.html": MISSING,
};

test("each page is at its address, as Markdown too, and so are the texts of the search and the whole text", async (t) => {
  const { get } = serve(t, FILES);
  for (const [url, type, text] of [
    ["/docs", "text/html", "at https://messages.example.com, and at https://messages.example.com/docs"],
    ["/docs.md", "text/markdown", "# Entry"],
    ["/docs/guides", "text/html", "guides"],
    ["/docs/guides/", "text/html", "guides"],
    ["/docs/guides/sending", "text/html", "sending"],
    ["/docs/guides/sending.md", "text/markdown", "# Sending"],
    ["/docs/search.json", "application/json", "[]"],
    ["/llms-full.txt", "text/plain", "at https://messages.example.com"],
  ] as const) {
    const { status, type: found, body } = await get(url);
    assert.deepEqual([status, found, body], [200, `${type}; charset=utf-8`, text], url);
  }
  const picture = await get("/docs/images/home.webp");
  assert.deepEqual([picture.status, picture.type, picture.body], [200, "image/webp", "a picture"]);
});

test("a page has the present address of the service, and the text of the last build", async (t) => {
  const { get, write, directory, service } = serve(t, FILES);
  await get("/docs");
  // The characters have a meaning in HTML, and in what replaces a text.
  service.url = "http://10.0.0.1:8080/a&b/$&";
  assert.equal((await get("/llms-full.txt")).body, "at http://10.0.0.1:8080/a&b/$&");
  assert.equal((await get("/docs")).body.split(",")[0], "at http://10.0.0.1:8080/a&amp;b/$&amp;");
  write("docs.html", "another build");
  utimesSync(join(directory, "docs.html"), 1, 1);
  assert.equal((await get("/docs")).body, "another build");
});

test("an address that leads to no page is a 404 that can be read, and none leads out of the made files", async (t) => {
  const { get } = serve(t, FILES);
  for (const url of [
    "/docs/no/such/page",
    "/docs/..%2f..%2fpackage.json",
    "/docs/guides/sending.md.md",
    "/docs/guides/sending.html",
    "/docs/guides//sending",
    "/docs/..%2f404",
    "/docs/images/none.webp",
    "/docs/images/..%2Fsandbox.md",
    "/docs/images/",
  ]) {
    const { status, body } = await get(url);
    assert.deepEqual([status, body], [404, MISSING], url);
  }
});

test("the policy of a page refuses what is not of the service", async (t) => {
  const { get } = serve(t, FILES);
  const policy = String((await get("/docs/guides/sending")).headers["content-security-policy"]);
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
    assert.ok(policy.split("; ").includes(part), part);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
});

test("without a build a page says how to make one, and comes again by itself", async (t) => {
  const { get, write } = serve(t, {});
  for (const url of ["/docs", "/docs/guides/sending", "/docs/search.json", "/llms-full.txt"]) {
    const { status, headers, body } = await get(url);
    assert.deepEqual([status, headers.refresh, headers["retry-after"]], [503, "2", "2"], url);
    assert.match(body, /npm run build/);
  }
  write("docs.html", "built");
  assert.equal((await get("/docs")).body, "built");
});

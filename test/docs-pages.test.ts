/** The pages of the documentation: each is reached from the side bar, none has a dead link or anchor, and all can be read without a script. */

import assert from "node:assert/strict";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";
import fastify from "fastify";
import { ERROR_STATUS, EVENT_TYPES } from "../sdk/wire.ts";
import { CONSOLE_PATHS } from "../server/pages/console.ts";
import { addDocs } from "../server/pages/docs/docs.ts";
import { CHAPTERS } from "../site/contents.ts";
import { readDocument } from "./support/contract.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const URL_OF_SERVICE = "https://messages.example.com";
/** Documents about the code, and the overview of the API that the reference takes the place of. */
const UNPUBLISHED = /^docs\/(internals|decisions|providers\/internals|images)\/|^docs\/(architecture|api)\.md$/;

const root = mkdtempSync(join(tmpdir(), "tightbeam-docs-"));
after(() => rmSync(root, { recursive: true }));
for (const name of ["docs", "sdk"]) symlinkSync(join(ROOT, name), join(root, name));
mkdirSync(join(root, "dist/console"), { recursive: true });
/** The shell, with the addresses that a build would give its files. */
const SHELL = readFileSync(join(ROOT, "console/docs.html"), "utf8").replace(
  /\.\/[\w/]+\.(ts|css|svg)"/g,
  '/assets/file.$1"',
);
writeFileSync(join(root, "dist/console/docs.html"), SHELL);

const document = readDocument();

function serve(directory: string | null) {
  const app = fastify();
  addDocs(app, { document: () => document, baseUrl: () => URL_OF_SERVICE, root: directory });
  after(() => app.close());
  return async (url: string) => {
    const { statusCode, headers, body } = await app.inject(url);
    return { status: statusCode, headers, body };
  };
}

const get = serve(root);

function anchorsIn(page: string): string[] {
  return [...page.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id);
}

function linksIn(page: string): string[] {
  return [...page.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"));
}

const entry = (await get("/docs")).body;
const sideBar = /<nav aria-label="Pages">(.*?)<\/nav>/s.exec(entry)?.[1] ?? "";
const ADDRESSES = linksIn(sideBar).filter((href) => !href.includes("#"));
const pages = new Map<string, string>();
for (const address of ADDRESSES) {
  const { status, body, headers } = await get(address);
  assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"], address);
  pages.set(address, body);
}

test("the side bar lists every guide, every document for users, and every group of operations", () => {
  const files = CHAPTERS.flatMap((chapter) => chapter.pages);
  const published = files.map(({ file }) => file).filter((file) => file.startsWith("docs/"));
  const documents = globSync("docs/**/*.md", { cwd: ROOT }).filter((path) => !UNPUBLISHED.test(path));
  assert.deepEqual(published.sort(), documents.sort(), "contents.ts names the documents that are pages");
  for (const { path } of files) assert.ok(ADDRESSES.includes(`/docs/${path}`), path);
  for (const { name } of document.tags) {
    assert.ok(ADDRESSES.includes(`/docs/reference/${name.toLowerCase()}`), name);
  }
  assert.equal(new Set(ADDRESSES).size, ADDRESSES.length, "two pages have one address");
});

test("each page has the side bar with itself marked, one title, and its heading first", () => {
  for (const [address, page] of pages) {
    assert.deepEqual(
      linksIn(page).filter((href) => ADDRESSES.includes(href)).length >= ADDRESSES.length,
      true,
      address,
    );
    assert.ok(page.includes(`href="${address}" aria-current="page"`), address);
    assert.equal(page.match(/<h1>/g)?.length, 1, address);
    assert.match(page, /<title>[^<{]+<\/title>/, address);
    assert.doesNotMatch(page, /\{\{\w|\[object Object/, address);
  }
});

test("no link of a page leads nowhere, and no id is repeated", () => {
  const others = ["/openapi.json", "/llms.txt", "/llms-full.txt", "/sdk.tgz", ...CONSOLE_PATHS];
  const dead: string[] = [];
  for (const [address, page] of pages) {
    const ids = anchorsIn(page);
    assert.deepEqual(ids, [...new Set(ids)], address);
    for (const href of linksIn(page)) {
      if (/^https:\/\//.test(href)) continue;
      const [path = "", anchor] = href.split("#");
      const target = path === "" ? page : pages.get(path);
      const isThere =
        target === undefined ? others.includes(path) : anchor === undefined || anchorsIn(target).includes(anchor);
      if (!isThere) dead.push(`${address} → ${href}`);
    }
  }
  assert.deepEqual(dead, []);
});

test("the pictures of the pages are there, in both themes, and nothing outside their directory is served", async () => {
  const pictures = [...pages.values()].flatMap((page) =>
    [...page.matchAll(/ (?:src|srcset)="(\/docs\/images\/[^"]*)"/g)].map(([, address = ""]) => address),
  );
  for (const address of pictures) {
    const { status, headers } = await get(address);
    assert.deepEqual([status, headers["content-type"]], [200, `image/${address.split(".")[1]}`], address);
  }
  for (const [address, page] of pages)
    assert.doesNotMatch(page, /&lt;(picture|img|source)|<img [^>]*src="(?!\/docs\/images\/)/, address);
  for (const url of ["/docs/images/none.webp", "/docs/images/..%2Fsandbox.md", "/docs/images/"]) {
    assert.equal((await get(url)).status, 404, url);
  }
});

test("the anchors of the former single page are on the entry page", () => {
  const ids = new Set(anchorsIn(entry));
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  const former = [
    ...document.tags.map(({ name }) => `tag-${name}`),
    ...operations.map(({ operationId }) => operationId),
    ...Object.values(document.webhooks).map(({ post }) => post.operationId),
    ...["record-Message", "record-Event", "webhook-events", "records", "errors"],
  ];
  assert.deepEqual(
    former.filter((anchor) => !ids.has(anchor)),
    [],
  );
});

test("a page has no inline script or style, and a policy that would refuse them", async () => {
  const { headers } = await get("/docs/guides/sending");
  const policy = String(headers["content-security-policy"]);
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
    assert.ok(policy.split("; ").includes(part), part);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  for (const [address, page] of pages) {
    assert.doesNotMatch(page, /<style|<(iframe|object|embed|base)\b|\sstyle=|\son\w+="/i, address);
    for (const [tag, attributes = "", text] of page.matchAll(/<script([^>]*)>(.*?)<\/script>/gs)) {
      assert.deepEqual([/ src="\/assets\//.test(attributes), text], [true, ""], tag);
    }
  }
});

test("a page without a script has everything: each operation with its command, each event, each code", () => {
  const whole = [...pages.values()].join("\n");
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  for (const { tags, operationId, summary } of operations) {
    const page = pages.get(`/docs/reference/${tags[0]?.toLowerCase()}`) ?? "";
    assert.ok(page.includes(`id="${operationId}"`) && page.includes(summary), operationId);
  }
  for (const type of EVENT_TYPES)
    assert.ok(pages.get("/docs/reference/webhook-events")?.includes(`<code>${type}</code>`), type);
  for (const code of Object.keys(ERROR_STATUS))
    assert.ok(pages.get("/docs/reference/errors")?.includes(`<code>${code}</code>`), code);
  const commands = [...whole.matchAll(/<code data-language="sh">(curl [^<]*)/g)]
    .map(([, command = ""]) => command)
    .filter((command) => command.includes(URL_OF_SERVICE));
  assert.ok(commands.length >= operations.length, `${commands.length} commands`);
  for (const command of commands) assert.doesNotMatch(command, /undefined|\{\w+\}/);
});

test("the address of each page with .md is its Markdown, whose links are addresses of this service", async () => {
  for (const address of ADDRESSES) {
    const { status, headers, body } = await get(`${address}.md`);
    assert.deepEqual([status, headers["content-type"]], [200, "text/markdown; charset=utf-8"], address);
    assert.match(body, /^# \S/, address);
    assert.doesNotMatch(body, /\[object Object/, address);
    for (const [, target = ""] of body.replace(/```.*?```/gs, "").matchAll(/\]\(([^)\s]+)\)/g)) {
      if (!target.startsWith(URL_OF_SERVICE)) {
        assert.match(target, /^(#|https:)/, address);
        continue;
      }
      const path = target.slice(URL_OF_SERVICE.length).replace(/#.*/, "");
      assert.ok(ADDRESSES.includes(path.replace(/\.md$/, "")), `${address} → ${target}`);
    }
  }
});

test("/llms-full.txt has the Markdown of every page, with the address of this service in the guides", async () => {
  const { headers, body } = await get("/llms-full.txt");
  assert.equal(headers["content-type"], "text/plain; charset=utf-8");
  for (const address of ADDRESSES.filter((one) => one !== "/docs")) {
    const markdown = (await get(`${address}.md`)).body.trim();
    assert.ok(body.includes(`Source: ${URL_OF_SERVICE}${address}\n\n${markdown}`), address);
  }
  assert.ok(body.includes(`export TIGHTBEAM_URL=${URL_OF_SERVICE}`));
});

test("the search knows every section of every page by an address that exists", async () => {
  const { body } = await get("/docs/search.json");
  const sections = JSON.parse(body) as { path: string; page: string; heading: string; text: string }[];
  assert.ok(sections.length > 400, `${sections.length} sections`);
  for (const { path, page } of sections) {
    const [address = "", anchor] = path.split("#");
    const target = pages.get(address) ?? assert.fail(path);
    assert.ok(page !== "" && (anchor === undefined || anchorsIn(target).includes(anchor)), path);
  }
  const found = new Set(sections.map(({ path }) => path.split("#")[0]));
  assert.deepEqual(
    ADDRESSES.filter((address) => address !== "/docs" && !found.has(address)),
    [],
  );
});

test("an unknown page is a 404 that can be read, with the side bar", async () => {
  for (const url of ["/docs/no/such/page", "/docs/..%2f..%2fpackage.json", "/docs/guides/sending.md.md"]) {
    const { status, body } = await get(url);
    assert.equal(status, 404, url);
    assert.ok(body.includes("There is no such page") && body.includes('href="/docs/guides/sending"'), url);
  }
  assert.equal((await get("/docs/guides/")).status, 200);
});

test("without the files of the documents and without a build the reference is all there is, and can be read", async () => {
  const read = serve(null);
  const { status, body } = await read("/docs");
  assert.equal(status, 200);
  const listed = linksIn(/<nav aria-label="Pages">(.*?)<\/nav>/s.exec(body)?.[1] ?? "");
  assert.deepEqual(
    listed.filter((href) => href !== "/docs" && !href.startsWith("/docs/reference")),
    [],
  );
  for (const address of listed) assert.equal((await read(address)).status, 200, address);
  assert.equal((await read("/docs/guides")).status, 404);
  assert.equal((await read("/llms-full.txt")).status, 200);
});

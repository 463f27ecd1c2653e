/** The pages of the documentation: each is reached from the side bar, none has a dead link or anchor, and all can be read without a script. */

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ERROR_STATUS, EVENT_TYPES } from "../sdk/wire.ts";
import { CONSOLE_PATHS } from "../server/pages/console.ts";
import { SERVICE_URL } from "../server/pages/service-url.ts";
import { CHAPTERS } from "../site/contents.ts";
import { siteFiles } from "../site/site.ts";
import { readDocument } from "./support/contract.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Documents about the code, and the overview of the API that the reference takes the place of. */
const UNPUBLISHED = /^docs\/(internals|decisions|providers\/internals|images)\/|^docs\/(architecture|api)\.md$/;

/** The shell, with the addresses that a build would give its files. */
const SHELL = readFileSync(join(ROOT, "console/docs.html"), "utf8").replace(
  /\.\/[\w/]+\.(ts|css|svg)"/g,
  '/assets/file.$1"',
);

const document = readDocument();
const files = siteFiles(SHELL, { root: ROOT, hasPictures: true });

function read(path: string): string {
  return files.get(path.slice(1)) ?? assert.fail(path);
}

function anchorsIn(page: string): string[] {
  return [...page.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id);
}

function linksIn(page: string): string[] {
  return [...page.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"));
}

const entry = read("/docs.html");
const sideBar = /<nav aria-label="Pages">(.*?)<\/nav>/s.exec(entry)?.[1] ?? "";
const ADDRESSES = linksIn(sideBar).filter((href) => !href.includes("#"));
const pages = new Map(ADDRESSES.map((address) => [address, read(`${address}.html`)]));

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
  for (const address of ADDRESSES)
    assert.match(address, /^\/docs(\/[a-z\d-]+)*$/, "server/pages/docs.ts serves no other");
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

test("the pictures of the pages are there, and an installed service leaves them out", () => {
  const pictures = [...pages.values()].flatMap((page) =>
    [...page.matchAll(/ (?:src|srcset)="(\/docs\/images\/[^"]*)"/g)].map(([, address = ""]) => address),
  );
  assert.ok(pictures.length > 100);
  for (const address of pictures) assert.ok(existsSync(join(ROOT, address)), address);
  for (const [address, page] of pages)
    assert.doesNotMatch(page, /&lt;(picture|img|source)|<img [^>]*src="(?!\/docs\/images\/)/, address);
  const installed = siteFiles(SHELL, { root: ROOT, hasPictures: false }).get("docs/console.html") ?? "";
  assert.deepEqual(installed.match(/<(img|source) /g), null);
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

test("a page has no inline script or style", () => {
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
    .filter((command) => command.includes(SERVICE_URL));
  assert.ok(commands.length >= operations.length, `${commands.length} commands`);
  for (const command of commands) assert.doesNotMatch(command, /undefined|\{\w+\}/);
});

test("each page is there as Markdown, whose links are addresses of the service", () => {
  for (const address of ADDRESSES) {
    const body = read(`${address}.md`);
    assert.match(body, /^# \S/, address);
    assert.doesNotMatch(body, /\[object Object/, address);
    for (const [, target = ""] of body.replace(/```.*?```/gs, "").matchAll(/\]\(([^)\s]+)\)/g)) {
      if (!target.startsWith(SERVICE_URL)) {
        assert.match(target, /^(#|https:)/, address);
        continue;
      }
      const path = target.slice(SERVICE_URL.length).replace(/#.*/, "");
      assert.ok(ADDRESSES.includes(path.replace(/\.md$/, "")), `${address} → ${target}`);
    }
  }
});

test("/llms-full.txt has the Markdown of every page, with the address of the service in the guides", () => {
  const body = read("/llms-full.txt");
  for (const address of ADDRESSES.filter((one) => one !== "/docs")) {
    const markdown = read(`${address}.md`).trim();
    assert.ok(body.includes(`Source: ${SERVICE_URL}${address}\n\n${markdown}`), address);
  }
  assert.ok(body.includes(`export TIGHTBEAM_URL=${SERVICE_URL}`));
});

test("the search knows every section of every page by an address that exists", () => {
  const sections = JSON.parse(read("/docs/search.json")) as {
    path: string;
    page: string;
    heading: string;
    text: string;
  }[];
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

test("the page of an address without one can be read, with the side bar", () => {
  const missing = read("/404.html");
  assert.ok(missing.includes("There is no such page") && missing.includes('href="/docs/guides/sending"'));
});

/** Markdown as HTML: anchors, links, tabs of adjacent fences, and HTML that stays text. */

import assert from "node:assert/strict";
import test from "node:test";
import { anchorSource, renderMarkdown, rewriteLinks } from "./markdown.ts";

const targetOf = (target: string) => (target.startsWith("unknown") ? null : `/docs/${target}`);
const htmlOf = (text: string) => renderMarkdown(text, targetOf).html().text;

test("HTML in a file is text, a comment is left out, and code is escaped", () => {
  const html = htmlOf(
    '<img src=x onerror="alert(1)">\n\n<!-- note -->\n\nA <b>word</b> and `<i>`.\n\n```html\n<script>\n```\n',
  );
  assert.doesNotMatch(html, /<(img|b|i|script)\b|note/);
  assert.match(html, /&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;/);
  assert.match(html, /&lt;script&gt;/);
});

test("a picture of the repository is shown if it is there, and nothing else is HTML", () => {
  const picture = (src: string) =>
    `<picture><source media="(prefers-color-scheme: dark)" srcset="${src}"><img alt="Home" width="620" src="${src}"></picture>`;
  assert.equal(
    htmlOf(picture("images/a.webp")),
    '<p><picture><source media="(prefers-color-scheme: dark)" srcset="/docs/images/a.webp"><img alt="Home" width="620" loading="lazy" src="/docs/images/a.webp"></picture></p>\n',
  );
  const moving =
    '<picture><source media="(prefers-reduced-motion: reduce)" srcset="images/b.webp"><img alt="Run" width="820" src="images/a.webp"></picture>';
  assert.equal(
    htmlOf(moving),
    '<p><picture><source media="(prefers-reduced-motion: reduce)" srcset="/docs/images/b.webp"><img alt="Run" width="820" loading="lazy" src="/docs/images/a.webp"></picture></p>\n',
  );
  assert.equal(htmlOf(picture("unknown.webp")), "<p><picture></picture></p>\n");
  assert.match(htmlOf('<img alt="" width="1" src="https://example.com/a.png">'), /^&lt;img/);
});

test("headings have the anchors of code hosts, and repeated ones are numbered", () => {
  const anchor = anchorSource();
  assert.deepEqual(
    ["Back up & restore", "`GET /v1/x`, twice", "Verify", "Verify"].map((heading) =>
      anchor(heading.replaceAll("`", "")),
    ),
    ["back-up--restore", "get-v1x-twice", "verify", "verify-1"],
  );
  assert.match(
    htmlOf("# Title\n\n## A `part`\n"),
    /<h1>Title<\/h1>\n<h2 id="a-part"><a href="#a-part">A <code>part<\/code><\/a>/,
  );
});

test("a link without a page is its text, and an address in the text is no link", () => {
  assert.equal(
    htmlOf("[here](events.md), [there](unknown.ts), http://127.0.0.1:8080"),
    '<p><a href="/docs/events.md">here</a>, there, http://127.0.0.1:8080</p>\n',
  );
  const rewritten = rewriteLinks("[`here`](events.md) [there](unknown)\n\n```ts\nx[0](events.md)\n```\n", targetOf);
  assert.equal(rewritten, "[`here`](/docs/events.md) there\n\n```ts\nx[0](events.md)\n```\n");
});

test("adjacent fences of different clients are one block of tabs, and no other fence is part of it", () => {
  const sh = "```sh\napi /v1/messages\n```\n";
  const ts = "```ts\nawait x;\n```\n";
  const cli = "```sh\nnpx tightbeam send\n```\n";
  const json = "```json\n{}\n```\n";
  const labels = (text: string) =>
    [...htmlOf(text).matchAll(/<div class="tabbed">(.*?)<\/div>/gs)].map(([, group = ""]) =>
      [...group.matchAll(/<figcaption>(.*?)</g)].map(([, label]) => label),
    );
  assert.deepEqual(labels(`${sh}\n${ts}\n${cli}\n${json}`), [["curl", "TypeScript", "CLI"]]);
  assert.deepEqual(labels(`${sh}\n${ts}\nWords.\n\n${sh}\n${cli}`), [
    ["curl", "TypeScript"],
    ["curl", "CLI"],
  ]);
  assert.deepEqual(labels(`${sh}\n${sh}\n${json}\nWords.\n\n${ts}`), []);
});

test("sections have the text below their headings, tables and lists included", () => {
  const sections = renderMarkdown(
    "# Title\n\nLead.\n\n## Part\n\n- one\n- *two*\n\n| A |\n|---|\n| `cell` |\n",
    targetOf,
  ).sections();
  assert.deepEqual(sections, [
    { heading: "", anchor: "", depth: 1, text: sections[0]?.text },
    { heading: "Part", anchor: "part", depth: 2, text: sections[1]?.text },
  ]);
  assert.match(sections[0]?.text ?? "", /Lead\./);
  for (const word of ["one", "two", "cell"]) assert.ok(sections[1]?.text.includes(word), word);
});

test("a table without headings has no head, and can be scrolled by keyboard", () => {
  const html = htmlOf("| | |\n|---|---|\n| a | b |\n");
  assert.doesNotMatch(html, /<th/);
  assert.match(html, /^<div class="table" tabindex="0"/);
  assert.match(htmlOf("| A | |\n|---|---|\n| a | b |\n"), /<th>A<\/th>\s*<td><\/td>/);
});

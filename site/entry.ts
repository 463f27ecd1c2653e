/** The entry page of the documentation. Its index has the anchors of the single page that the reference once was. Pure. */

import type { OpenApiDocument } from "../server/api/openapi/document.ts";
import { html, type Markup } from "./markup.ts";
import { operationsOf, type ReferenceSource, recordsOf } from "./operations.ts";
import { groupPath } from "./reference-pages.ts";

/** A chapter, as the entry shows it. */
interface EntryChapter {
  title: string;
  pages: readonly { path: string; title: string; summary: string }[];
}

/** The article at `/docs`. */
export function entryArticle({ document, baseUrl }: ReferenceSource, chapters: readonly EntryChapter[]): Markup {
  const guides = chapters.filter(({ title }) => title !== "Reference");
  return html`<h1>${document.info.title} documentation</h1>
<p class="lead">${document.info.summary}</p>
<div class="cards">${guides.map(({ title, pages }) => {
    const links = pages.map(
      ({ path, title: name, summary }) => html`<li><a href="/docs/${path}">${name}</a> <span>${summary}</span></li>`,
    );
    return html`<section><h2>${title}</h2><ul>${links}</ul></section>`;
  })}
<section><h2>For programs</h2><ul>
<li><a href="/openapi.json">openapi.json</a> <span>the API as OpenAPI 3.1</span></li>
<li><a href="/llms.txt">llms.txt</a> <span>a short guide for language models</span></li>
<li><a href="/llms-full.txt">llms-full.txt</a> <span>all of these pages in one text; each page is also at its address with <code>.md</code></span></li>
<li><a href="/sdk.tgz">sdk.tgz</a> <span>the client: <code>npm install ${baseUrl}/sdk.tgz</code></span></li>
</ul></section></div>
<h2>Reference</h2>
<p><a href="/docs/reference">Conventions</a> says what all operations share.</p>
<div class="index">${document.tags.map(({ name }) => groupIndex(document, name))}</div>
<h3 id="webhook-events"><a href="/docs/reference/webhook-events">Webhook events</a></h3>
<ul class="names">${Object.entries(document.webhooks).map(
    ([type, { post }]) =>
      html`<li id="${post.operationId}"><a href="/docs/reference/webhook-events#${post.operationId}">${type}</a></li>`,
  )}</ul>
<h3 id="records"><a href="/docs/reference/records">Records</a></h3>
<ul class="names">${recordsOf(document).map(
    ([name]) => html`<li id="record-${name}"><a href="/docs/reference/records#record-${name}">${name}</a></li>`,
  )}</ul>
<h3 id="errors"><a href="/docs/reference/errors">Error codes</a></h3>`;
}

function groupIndex(document: OpenApiDocument, tag: string): Markup {
  const address = `/docs/${groupPath(tag)}`;
  const operations = operationsOf(document, tag).map(
    ({ operation: { operationId, summary } }) =>
      html`<li id="${operationId}"><a href="${address}#${operationId}">${summary}</a></li>`,
  );
  return html`<section id="tag-${tag}"><h3><a href="${address}">${tag}</a></h3><ul>${operations}</ul></section>`;
}

/** The same as Markdown. */
export function entryMarkdown({ document, baseUrl }: ReferenceSource, chapters: readonly EntryChapter[]): string {
  const lists = chapters.map(({ title, pages }) => {
    const lines = pages.map(({ path, title: name, summary }) => `- [${name}](${baseUrl}/docs/${path}.md): ${summary}`);
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  const programs = `All of these pages in one text: ${baseUrl}/llms-full.txt. The API as OpenAPI 3.1: ${baseUrl}/openapi.json.`;
  return [`# ${document.info.title} documentation`, document.info.summary, programs, ...lists].join("\n\n");
}

/** The pages of the reference: what all operations share, one page a group, the webhook events, the records and the errors. Pure. */

import type { OpenApiDocument } from "../server/api/openapi/document.ts";
import type { Article, DocsSection } from "./markdown.ts";
import { html, type Markup, prose } from "./markup.ts";
import {
  errorsArticle,
  eventsArticle,
  groupArticle,
  groupSections,
  operationsOf,
  type ReferenceSource,
  recordsArticle,
  recordsOf,
} from "./operations.ts";
import { errorsMarkdown, eventsMarkdown, groupMarkdown, recordsMarkdown } from "./reference-markdown.ts";

/** A page of the reference. */
interface ReferencePart {
  path: string;
  title: string;
  summary: string;
  article(): Article;
  markdown(): string;
}

/** The reference in a few words. */
export const ABOUT_REFERENCE = "Every operation, event, record and error, as this service has them.";

/** The address of a group below `/docs/`. */
export function groupPath(tag: string): string {
  return `reference/${tag.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
}

/** The pages of the reference, in the order of the side bar. */
export function referencePages(source: ReferenceSource): ReferencePart[] {
  const { document } = source;
  return [
    {
      path: "reference",
      title: "Conventions",
      summary: "keys, envelope, idempotency, pages, rate limit",
      article: () => ({ html: () => conventionsArticle(document), sections: () => conventionSections(document) }),
      markdown: () => conventionsMarkdown(document),
    },
    ...document.tags.map(({ name, description }) => ({
      path: groupPath(name),
      title: name,
      summary: description,
      article: () => ({ html: () => groupArticle(source, name), sections: () => groupSections(document, name) }),
      markdown: () => groupMarkdown(source, name),
    })),
    {
      path: "reference/webhook-events",
      title: "Webhook events",
      summary: "each type with an example",
      article: () => ({ html: () => eventsArticle(source), sections: () => eventSections(document) }),
      markdown: () => eventsMarkdown(source),
    },
    {
      path: "reference/records",
      title: "Records",
      summary: "every field of every response",
      article: () => ({ html: () => recordsArticle(source), sections: () => recordSections(document) }),
      markdown: () => recordsMarkdown(source),
    },
    {
      path: "reference/errors",
      title: "Error codes",
      summary: "each code with its status",
      article: () => ({
        html: errorsArticle,
        sections: () => [{ heading: "", anchor: "", depth: 1, text: errorsMarkdown() }],
      }),
      markdown: errorsMarkdown,
    },
  ];
}

function paragraphsOf({ info }: OpenApiDocument): string[] {
  return info.description.split("\n\n");
}

function conventionsArticle(document: OpenApiDocument): Markup {
  const [lead = "", ...others] = paragraphsOf(document);
  const groups = document.tags.map(({ name, description }) => {
    const address = `/docs/${groupPath(name)}`;
    const operations = operationsOf(document, name).map(
      ({ method, path, operation }) =>
        html`<li><a href="${address}#${operation.operationId}">${operation.summary}</a> <span class="type"><span class="verb ${method.toLowerCase()}">${method}</span> ${path}</span></li>`,
    );
    return html`<h3><a href="${address}">${name}</a></h3><p>${prose(description)}</p><ul class="operations">${operations}</ul>`;
  });
  return html`<h1>Conventions</h1><p class="lead">${prose(lead)}</p>${others.map((one) => html`<p>${prose(one)}</p>`)}
<h2 id="operations"><a href="#operations">All operations</a></h2>${groups}`;
}

function conventionSections(document: OpenApiDocument): DocsSection[] {
  const text = paragraphsOf(document).join("\n");
  return [
    { heading: "", anchor: "", depth: 1, text },
    { heading: "All operations", anchor: "operations", depth: 2, text: "" },
  ];
}

function conventionsMarkdown(document: OpenApiDocument): string {
  const groups = document.tags.map(({ name }) => {
    const lines = operationsOf(document, name).map(
      ({ method, path, operation }) => `- \`${method} ${path}\`: ${operation.summary}`,
    );
    return `### ${name}\n\n${lines.join("\n")}`;
  });
  return ["# Conventions", ...paragraphsOf(document), "## All operations", ...groups].join("\n\n");
}

function eventSections({ webhooks }: OpenApiDocument): DocsSection[] {
  return Object.entries(webhooks).map(([type, { post }]) => ({
    heading: type,
    anchor: post.operationId,
    depth: 2,
    text: post.summary,
  }));
}

/** Records are too many for the side bar. */
function recordSections(document: OpenApiDocument): DocsSection[] {
  return recordsOf(document).map(([name, { description = "", properties = {} }]) => ({
    heading: name,
    anchor: `record-${name}`,
    depth: 3,
    text: `${description}\n${Object.keys(properties).join(" ")}`,
  }));
}

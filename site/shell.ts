/** Puts an article into the shell: the page of the console around it. Pure. */

import { addressOf, type DocsPage, type ListedChapter } from "./library.ts";
import type { Article } from "./markdown.ts";
import { html, type Markup, prose, textOf } from "./markup.ts";

/** A whole page. */
export function fillShell(
  template: string,
  page: Pick<DocsPage, "path" | "title">,
  article: Article,
  chapters: readonly ListedChapter[],
): string {
  const title = page.path === "" ? "Tightbeam documentation" : `${page.title} · Tightbeam docs`;
  const parts: Record<string, Markup> = {
    title: html`${title}`,
    contents: contentsOf(page.path, article, chapters),
    article: html`<article>${article.html()}</article>`,
  };
  return template.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => parts[name]?.text ?? whole);
}

/** The list of pages; the present one with its parts. */
function contentsOf(path: string, article: Article, chapters: readonly ListedChapter[]): Markup {
  const start = html`<ul><li><a href="/docs"${currentIf(path === "")}>Start</a></li></ul>`;
  const parts = article.sections().filter(({ depth }) => depth === 2);
  const inside = html`<ul>${parts.map(
    ({ heading, anchor }) => html`<li><a href="#${anchor}">${textOf(prose(heading))}</a></li>`,
  )}</ul>`;
  return html`${start}${chapters.map(
    ({ title, pages }) => html`<h2>${title}</h2>
<ul>${pages.map(
      (one) =>
        html`<li><a href="${addressOf(one.path)}"${currentIf(one.path === path)}>${one.title}</a>${
          one.path === path && parts.length > 0 ? inside : null
        }</li>
`,
    )}</ul>
`,
  )}`;
}

function currentIf(isCurrent: boolean): Markup | null {
  return isCurrent ? html` aria-current="page"` : null;
}

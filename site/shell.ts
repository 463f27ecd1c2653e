/** Puts an article into the shell: the page of the console around it, which the build of the console wrote, or a bare page. */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { addressOf, type DocsPage, type ListedChapter } from "./library.ts";
import type { Article } from "./markdown.ts";
import { html, type Markup, prose, textOf } from "./markup.ts";

/** Without a build the page has no style and no script, and everything to read. */
const BARE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{title}}</title></head>
<body>
<nav aria-label="Pages">{{contents}}</nav>
<main>{{article}}</main>
</body>
</html>
`;

/** The shell as it is on the disk. A build that takes the place of another has other files. */
export class Shell {
  readonly #file: string | null;
  #read: { at: number; template: string } | undefined;

  constructor(root: string | null) {
    this.#file = root === null ? null : join(root, "dist/console/docs.html");
  }

  /** The present template: the same string until the file changes. */
  template(): string {
    const at = this.#file === null ? undefined : statSync(this.#file, { throwIfNoEntry: false })?.mtimeMs;
    if (this.#file === null || at === undefined) return BARE;
    if (this.#read?.at !== at) this.#read = { at, template: readFileSync(this.#file, "utf8") };
    return this.#read.template;
  }
}

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

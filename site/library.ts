/** All pages of the documentation: the Markdown files, and the reference. Each is rendered when its article or its Markdown is asked for. */

import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import type { OpenApiDocument } from "../server/api/openapi/document.ts";
import { CHAPTERS, type DocsFile } from "./contents.ts";
import { entryArticle, entryMarkdown } from "./entry.ts";
import { type AddressOfLink, type Article, renderMarkdown, rewriteLinks } from "./markdown.ts";
import { html } from "./markup.ts";
import { ABOUT_REFERENCE, referencePages } from "./reference-pages.ts";

/** A page of the documentation. */
export interface DocsPage {
  /** Its address below `/docs/`; empty for the entry. */
  path: string;
  title: string;
  /** Its content in a few words; empty where the title says it. */
  summary: string;
  article(): Article;
  markdown(): string;
}

/** Pages that stand together in the side bar. */
export interface ListedChapter {
  title: string;
  pages: readonly DocsPage[];
}

/** Addresses that lead to a page although their file is none: the overview of the API in the repository is generated. */
const STAND_INS: Readonly<Record<string, string>> = { "docs/api.md": "reference", "README.md": "" };
/** The address of the service in examples that are run on the reader's machine. */
const EXAMPLE_URL = "http://127.0.0.1:8080";

/** The page of an address. */
export function addressOf(path: string): string {
  return path === "" ? "/docs" : `/docs/${path}`;
}

/** Where the files are, and whether the pages show their pictures. */
export interface DocsFiles {
  /** The directory that the paths of the files begin in. */
  root: string;
  hasPictures: boolean;
}

/** The pages of a service at `baseUrl`. */
export class Library {
  readonly chapters: readonly ListedChapter[];
  /** Every page, in the order of the side bar. */
  readonly pages: readonly DocsPage[];
  readonly baseUrl: string;

  constructor(document: OpenApiDocument, baseUrl: string, files: DocsFiles) {
    this.baseUrl = baseUrl;
    const source = { document, baseUrl };
    const addresses = new Map(Object.entries(STAND_INS));
    for (const { file, path } of CHAPTERS.flatMap(({ pages }) => pages)) addresses.set(file, path);
    this.chapters = [
      ...CHAPTERS.map(({ title, pages }) => ({
        title,
        pages: pages.map((page) => filePage({ ...page, ...files }, addresses, baseUrl)),
      })),
      { title: "Reference", pages: referencePages(source) },
    ];
    const entry = {
      path: "",
      title: "Documentation",
      summary: ABOUT_REFERENCE,
      article: () => ({ html: () => entryArticle(source, this.chapters), sections: () => [] }),
      markdown: () => entryMarkdown(source, this.chapters),
    };
    this.pages = [entry, ...this.chapters.flatMap(({ pages }) => pages)];
  }
}

type LocatedFile = DocsFile & DocsFiles;

function filePage(page: LocatedFile, addresses: ReadonlyMap<string, string>, baseUrl: string): DocsPage {
  const { path, title, summary, file, root } = page;
  const read = () => {
    const text = readFileSync(join(root, file), "utf8");
    return isTriedOut(path) ? text.replaceAll(EXAMPLE_URL, baseUrl) : text;
  };
  return {
    path,
    title,
    summary,
    article: () => renderMarkdown(read(), linksOf(page, addresses, addressOf)),
    markdown: () =>
      rewriteLinks(
        read(),
        linksOf(page, addresses, (target) => `${baseUrl}${addressOf(target)}.md`),
      ),
  };
}

/** Whether the commands of a page are for this service, and not for one that the reader sets up. */
function isTriedOut(path: string): boolean {
  return path === "sdk" || path === "guides" || path.startsWith("guides/");
}

/** A picture that the documents show. */
const PICTURE = /^docs\/images\/[\w-]+\.(png|webp)$/;

/** Where the links of a file lead. A file of the repository that is no page has no address here. */
function linksOf(
  { file, hasPictures }: LocatedFile,
  addresses: ReadonlyMap<string, string>,
  addressFor: (path: string) => string,
): AddressOfLink {
  return (target) => {
    if (/^(https?:|#)/.test(target)) return target;
    const [name = "", anchor] = target.split("#");
    const resolved = posix.join(posix.dirname(file), name);
    const path = addresses.get(resolved);
    if (path === undefined) return hasPictures && PICTURE.test(resolved) ? `/${resolved}` : null;
    return `${addressFor(path)}${anchor === undefined ? "" : `#${anchor}`}`;
  };
}

/** The page of an address that has none. */
export const MISSING_PAGE: Article = {
  html: () =>
    html`<h1>There is no such page</h1><p class="lead">Look for it in the list of pages, or begin at <a href="/docs">the start of the documentation</a>.</p>`,
  sections: () => [],
};

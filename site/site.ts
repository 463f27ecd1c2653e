/** The documentation as files: each page as HTML and as Markdown, the texts of the search, and all of it in one text. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildDocument } from "../server/api/openapi/document.ts";
import { SERVICE_URL } from "../server/pages/service-url.ts";
import { wholeText } from "./full-text.ts";
import { addressOf, type DocsFiles, Library, MISSING_PAGE } from "./library.ts";
import { searchTexts } from "./search-texts.ts";
import { fillShell } from "./shell.ts";

/** The text of each file by its path, which is its address; a page has `.html` behind it. `404.html` is the page of an address without one. */
export function siteFiles(shell: string, files: DocsFiles): Map<string, string> {
  // No page shows the version.
  const library = new Library(buildDocument(""), SERVICE_URL, files);
  const { pages, chapters } = library;
  const missing = { path: "/", title: "There is no such page" };
  return new Map([
    ...pages.flatMap((page): [string, string][] => {
      const path = addressOf(page.path).slice(1);
      return [
        [`${path}.html`, fillShell(shell, page, page.article(), chapters)],
        [`${path}.md`, `${page.markdown().trimEnd()}\n`],
      ];
    }),
    ["docs/search.json", searchTexts(library)],
    ["llms-full.txt", wholeText(library)],
    ["404.html", fillShell(shell, missing, MISSING_PAGE, chapters)],
  ]);
}

/** Writes the files into `pages` of a build of the console, whose `docs.html` is their shell, in place of those that are there. */
export function writeSite(build: string, files: DocsFiles): void {
  const directory = join(build, "pages");
  rmSync(directory, { recursive: true, force: true });
  for (const [path, text] of siteFiles(readFileSync(join(build, "docs.html"), "utf8"), files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

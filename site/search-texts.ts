/** The texts that the search of the documentation reads, as JSON: one entry a section of a page. Pure but for reading the pages. */

import { addressOf, type Library } from "./library.ts";

/** One section of a page. The browser's search declares the same. */
interface SearchText {
  /** The address, with the anchor. */
  path: string;
  /** The title of the page. */
  page: string;
  /** The heading of the section; empty for the start of the page. */
  heading: string;
  text: string;
}

/** Every section of every page. */
export function searchTexts({ pages }: Library): string {
  const texts: SearchText[] = [];
  for (const page of pages) {
    for (const { heading, anchor, text } of page.article().sections()) {
      const path = addressOf(page.path) + (anchor === "" ? "" : `#${anchor}`);
      texts.push({ path, page: page.title, heading, text: text.replace(/\s+/g, " ").trim() });
    }
  }
  return JSON.stringify(texts);
}

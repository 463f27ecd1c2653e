/** Finds sections of the documentation by words. Pure. */

import MiniSearch from "minisearch";

/** One section of a page, as the service lists it in `/docs/search.json`. */
export interface SearchText {
  path: string;
  page: string;
  heading: string;
  text: string;
}

/** A section that was found, with the words around the first match. */
export interface Hit {
  path: string;
  title: string;
  /** The page, if the title is that of a section. */
  page: string | null;
  excerpt: string;
}

const HITS_MAX = 8;
const EXCERPT_LENGTH = 110;
/** Shorter words are found only as they stand: another letter makes another word of them. */
const FUZZY_LENGTH_MIN = 5;

/** Makes a search of these sections. */
export function createSearch(texts: readonly SearchText[]): (words: string) => Hit[] {
  const index = new MiniSearch({
    fields: ["heading", "page", "text"],
    searchOptions: {
      boost: { heading: 5, page: 3 },
      prefix: true,
      fuzzy: (term) => (term.length < FUZZY_LENGTH_MIN ? false : 0.2),
    },
  });
  index.addAll(texts.map(({ heading, page, text }, id) => ({ id, heading: heading || page, page, text })));
  return (words) => {
    const all = index.search(words, { combineWith: "AND" });
    const found = all.length > 0 ? all : index.search(words);
    return found.slice(0, HITS_MAX).flatMap(({ id, terms }) => {
      const section = texts[Number(id)];
      return section === undefined ? [] : [hitOf(section, terms)];
    });
  };
}

function hitOf({ path, page, heading, text }: SearchText, terms: readonly string[]): Hit {
  return {
    path,
    title: heading || page,
    page: heading === "" ? null : page,
    excerpt: excerptOf(text, terms),
  };
}

/** The text around the first of the terms. */
function excerptOf(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const start = first < EXCERPT_LENGTH / 2 ? 0 : text.lastIndexOf(" ", first - EXCERPT_LENGTH / 4) + 1;
  const end = start + EXCERPT_LENGTH;
  const part = text.slice(start, end).trim();
  return `${start > 0 ? "…" : ""}${part}${end < text.length ? "…" : ""}`;
}

/** Sections of the documentation, which the palette finds. */

import { useQuery } from "@tanstack/react-query";

/** A section of a page. */
export interface DocsSection {
  path: string;
  page: string;
  /** Empty for the start of the page. */
  heading: string;
}

const FOUND_MAX = 5;
const LETTERS_MIN = 2;

async function readSections(): Promise<DocsSection[]> {
  const response = await fetch("/docs/search.json");
  return response.ok ? ((await response.json()) as DocsSection[]) : [];
}

/** The sections whose titles have all these words. They are read once, when somebody has typed enough to look for one. */
export function useDocsSections(words: string): DocsSection[] {
  const isLooking = words.trim().length >= LETTERS_MIN;
  const { data = [] } = useQuery({
    queryKey: ["documentation"],
    queryFn: readSections,
    enabled: isLooking,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return isLooking ? findSections(data, words) : [];
}

/** The sections whose titles have all these words: pages before their parts. Pure. */
export function findSections(sections: readonly DocsSection[], words: string): DocsSection[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = sections.filter(({ page, heading }) => {
    const title = `${page} ${heading}`.toLowerCase();
    return wanted.every((word) => title.includes(word));
  });
  return found.sort((a, b) => Number(a.heading !== "") - Number(b.heading !== "")).slice(0, FOUND_MAX);
}

/** Text search: the normalized form of texts, and the words of a query. */

/**
 * The form in which texts and searches are compared. It ignores case in every script, and differences between
 * equivalent code points (Unicode NFKC): `STRASSE` matches `Straße`, and `istanbul` matches `İstanbul`.
 */
export function searchForm(text: string): string {
  // Upper case first: ß becomes SS, and all sigmas become equal. Lower case alone keeps a dot over the i, and final
  // sigmas.
  const lower = text.normalize("NFKC").toUpperCase().toLowerCase();
  return lower.replaceAll("i\u0307", "i").replaceAll("ς", "σ");
}

/** The words of a search, in search form, one a line; empty for a search without words. */
export function searchWords(search: string): string {
  return [...new Set(searchForm(search).split(/\s+/u))].filter((word) => word !== "").join("\n");
}

/** Whether every one of these words (as `searchWords` has them) is in the text, anywhere and in any order. */
export function hasWords(text: string, words: string): boolean {
  const form = searchForm(text);
  return words.split("\n").every((word) => form.includes(word));
}

/** `/llms-full.txt`: every guide, every document and the whole reference in one text, for language models with room for it. Pure but for reading the pages. */

import { addressOf, type Library } from "./library.ts";

/** The text. Each page begins with its address. */
export function wholeText({ baseUrl, chapters }: Library): string {
  const pages = chapters.flatMap(({ pages }) => pages);
  const about = `# Tightbeam: all documentation

> A self-hosted messaging service: iMessage with SMS fallback behind one REST API, and signed webhooks that never get lost. This one is at ${baseUrl}. The short form of this text: ${baseUrl}/llms.txt.`;
  const texts = [about];
  for (const page of pages) {
    texts.push(`Source: ${baseUrl}${addressOf(page.path)}\n\n${page.markdown().trim()}`);
  }
  return `${texts.join("\n\n---\n\n")}\n`;
}

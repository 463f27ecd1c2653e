/** Blocks of code: one, or the same request for several clients, which become tabs in a browser that runs scripts. Pure. */

import { html, type Markup } from "./markup.ts";

/** Code of one client. */
export interface Snippet {
  /** The client, such as `curl`; empty for code that stands by itself. */
  label: string;
  /** The language as fences name it; may be empty. */
  language: string;
  code: string | Markup;
}

/** A block of code. It can be scrolled by keyboard. */
export function snippetFigure({ label, language, code }: Snippet): Markup {
  const caption = label === "" ? null : html`<figcaption>${label}</figcaption>`;
  return html`<figure class="code">${caption}<pre tabindex="0"><code data-language="${language}">${code}</code></pre></figure>
`;
}

/** The same for several clients, one below the other. */
export function codeTabs(snippets: readonly Snippet[]): Markup {
  return html`<div class="tabbed">${snippets.map(snippetFigure)}</div>
`;
}

/** Renders the Markdown files of the repository as HTML, and rewrites their links to the addresses of the pages. HTML in a file is escaped. Pure. */

import { Marked, Renderer, type RendererObject, type Token, type Tokens } from "marked";
import { escaped, Markup } from "./markup.ts";
import { codeTabs, type Snippet, snippetFigure } from "./snippets.ts";

/** A part of a page below one heading, as the search knows it. */
export interface DocsSection {
  /** Empty for the text before the first heading below the title. */
  heading: string;
  /** The id of the heading; empty for the start of the page. */
  anchor: string;
  /** 2 for the main parts of a page, which the side bar lists. */
  depth: number;
  text: string;
}

/** A page without the shell around it. Each part is made when it is asked for: the search reads the sections of every page, and no HTML. */
export interface Article {
  html(): Markup;
  sections(): DocsSection[];
}

/** Where a link of a file leads: an address, or null if there is no page for its target. */
export type AddressOfLink = (target: string) => string | null;

/** The page of a Markdown file. */
export function renderMarkdown(text: string, targetOf: AddressOfLink): Article {
  const anchors = new Map<Tokens.Heading, string>();
  const marked = new Marked({ gfm: true, renderer: rendererOf(targetOf, anchors) });
  const tokens = marked.lexer(text);
  const nextAnchor = anchorSource();
  for (const token of tokens) {
    if (isHeading(token)) anchors.set(token, nextAnchor(plainText(token)));
  }
  const htmlOf = (block: Token | Tokens.Code[]) =>
    Array.isArray(block) ? codeTabs(block.map(snippetOf)).text : marked.parser([block]);
  return {
    html: () => new Markup(blocksOf(tokens).map(htmlOf).join("")),
    sections: () => sectionsOf(tokens, anchors),
  };
}

/** Gives each heading the id that it has on code hosts: repeated headings are numbered. */
export function anchorSource(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const anchor = heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-");
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === "heading";
}

function isCode(token: Token | undefined): token is Tokens.Code {
  return token?.type === "code";
}

/** The language of a fence as a reader calls it; null for a fence that is no language of a client, such as an output. */
function labelOf({ lang = "", text }: Tokens.Code): string | null {
  if (lang === "ts") return "TypeScript";
  if (lang === "js") return "JavaScript";
  if (lang !== "sh") return null;
  return /(^|\$\()npx tightbeam\b/m.test(text) ? "CLI" : "curl";
}

function snippetOf(token: Tokens.Code): Snippet {
  return { label: labelOf(token) ?? "", language: token.lang ?? "", code: token.text };
}

/** The blocks of a file. Fences of different clients with only blank lines between them are one block. */
function blocksOf(tokens: readonly Token[]): (Token | Tokens.Code[])[] {
  const blocks: (Token | Tokens.Code[])[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const group: Tokens.Code[] = [];
    let end = index;
    for (let at = index; at < tokens.length; at++) {
      const token = tokens[at];
      if (token?.type === "space") continue;
      if (!isCode(token) || labelOf(token) === null) break;
      if (group.some((one) => labelOf(one) === labelOf(token))) break;
      group.push(token);
      end = at;
    }
    const token = tokens[index];
    if (group.length > 1) {
      blocks.push(group);
      index = end;
    } else if (token !== undefined) {
      blocks.push(token);
    }
  }
  return blocks;
}

function rendererOf(targetOf: AddressOfLink, anchors: ReadonlyMap<Tokens.Heading, string>): RendererObject {
  return {
    heading(token) {
      const { depth, tokens } = token;
      const inner = this.parser.parseInline(tokens);
      const anchor = anchors.get(token);
      if (anchor === undefined || depth === 1) return `<h${depth}>${inner}</h${depth}>\n`;
      const link = inner.includes("<a ") ? inner : `<a href="#${escaped(anchor)}">${inner}</a>`;
      return `<h${depth} id="${escaped(anchor)}">${link}</h${depth}>\n`;
    },
    link({ href, tokens, raw }) {
      const inner = this.parser.parseInline(tokens);
      // An address in the text, such as one of an example, is no link.
      const address = raw.startsWith("[") ? targetOf(href) : null;
      return address === null ? inner : `<a href="${escaped(address)}">${inner}</a>`;
    },
    image: ({ text }) => escaped(text),
    // An installed service has no pictures: the console itself is a click away.
    html: ({ text }) => (text.trim().startsWith("<!--") ? "" : (picturePart(text.trim(), targetOf) ?? escaped(text))),
    code: ({ lang = "", text }) => snippetFigure({ label: "", language: lang, code: text }).text,
    table(token) {
      const table = Renderer.prototype.table.call(this, token);
      // A cell without text heads no column.
      const headed = table.replace(/<thead>(\s|<\/?tr>|<th[^<>]*><\/th>)*<\/thead>/, "");
      const cells = headed.replace(/<th([^<>]*)><\/th>/g, "<td$1></td>");
      return `<div class="table" tabindex="0" role="group" aria-label="Table">${cells}</div>\n`;
    },
  };
}

const SOURCE = /^<source media="(\([a-z: -]+\))" srcset="([\w./-]+)">$/;
const MEDIA = ["(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)"];
const IMAGE = /^<img alt="([^"<>]*)" width="(\d+)" src="([\w./-]+)">$/;

/**
 * Parts of a picture in both themes, or with a still one for readers who asked for less motion: the only HTML of the files that is HTML on
 * the pages. Null for any other. A picture without an address is left out.
 */
function picturePart(text: string, targetOf: AddressOfLink): string | null {
  if (text === "<picture>" || text === "</picture>") return text;
  const [, media, other] = SOURCE.exec(text) ?? [];
  if (media !== undefined && MEDIA.includes(media) && other !== undefined) {
    const address = targetOf(other);
    return address === null ? "" : `<source media="${media}" srcset="${escaped(address)}">`;
  }
  const [, alt, width, light] = IMAGE.exec(text) ?? [];
  if (alt === undefined || light === undefined) return null;
  const address = targetOf(light);
  return address === null ? "" : `<img alt="${alt}" width="${width}" loading="lazy" src="${escaped(address)}">`;
}

/** The text of a token and of everything in it. */
function plainText(token: Token): string {
  if (token.type === "list") return (token as Tokens.List).items.map(plainText).join("\n");
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].map((row) => row.map(({ tokens }) => textOfAll(tokens)).join(" ")).join("\n");
  }
  if ("tokens" in token && token.tokens !== undefined) return textOfAll(token.tokens);
  return token.type === "html" || !("text" in token) ? "" : String(token.text);
}

function textOfAll(tokens: readonly Token[]): string {
  return tokens.map(plainText).join("");
}

function sectionsOf(tokens: readonly Token[], anchors: ReadonlyMap<Tokens.Heading, string>): DocsSection[] {
  const sections: DocsSection[] = [{ heading: "", anchor: "", depth: 1, text: "" }];
  for (const token of tokens) {
    if (isHeading(token) && token.depth > 1) {
      const { depth } = token;
      sections.push({ heading: plainText(token), anchor: anchors.get(token) ?? "", depth, text: "" });
    } else if (!isHeading(token)) {
      const last = sections.at(-1);
      if (last !== undefined) last.text += `${plainText(token)}\n`;
    }
  }
  return sections;
}

const FENCES = /^(```.*?^```\s*$)/ms;
const LINK = /\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;

/** The Markdown with its links rewritten. A link without a page becomes its text. */
export function rewriteLinks(text: string, targetOf: AddressOfLink): string {
  return text
    .split(FENCES)
    .map((part) => {
      if (part.startsWith("```")) return part;
      return part.replace(LINK, (_, words: string, target: string) => {
        const address = targetOf(target);
        return address === null ? words : `[${words}](${address})`;
      });
    })
    .join("");
}

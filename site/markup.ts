/** Builds HTML that is safe by construction: text is escaped, and only `html` creates markup. Pure. */

/** A piece of markup, which is not escaped again. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | null | readonly Part[];

/** HTML with values: `` html`<p>${name}</p>` ``. Strings are escaped, lists are joined, null is left out. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.reduce((text, string, index) => text + render(parts[index - 1] ?? null) + string));
}

function render(part: Part): string {
  if (part === null) return "";
  if (part instanceof Markup) return part.text;
  return typeof part === "object" ? part.map(render).join("") : escaped(String(part));
}

/** The text of markup, without its elements. */
export function textOf({ text }: Markup): string {
  const plain = text.replace(/<[^<>]*>/g, "");
  return plain.replaceAll("&quot;", '"').replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
}

/** Text for HTML, quoted attributes included. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** A sentence as HTML: backticks become code, and double asterisks strong. */
export function prose(text: string): Markup {
  const pieces = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/);
  return html`${pieces.map((piece) => {
    if (piece.startsWith("`")) return html`<code>${piece.slice(1, -1)}</code>`;
    return piece.startsWith("**") ? html`<strong>${piece.slice(2, -2)}</strong>` : html`${piece}`;
  })}`;
}

/** A value as JSON over several lines, with keys and strings highlighted. */
export function json(value: unknown): Markup {
  const pieces = JSON.stringify(value, null, 2).split(/("(?:[^"\\]|\\.)*"(?:\s*:)?)/);
  return html`${pieces.map((piece) => {
    if (!piece.startsWith('"')) return html`${piece}`;
    return piece.endsWith(":") ? html`<b>${piece}</b>` : html`<i>${piece}</i>`;
  })}`;
}

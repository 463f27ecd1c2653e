/** Blocks that call the API by the guides' shorthand `api`: says above the first where it is defined, and defines it in what is copied. */

import { all, element } from "./page.ts";

const GUIDES = "/docs/guides";
const USE = /(^|[\s(|])(api ["/]|idOf\b)/m;
const DEFINITION = /^(api|pretty|idOf)\(\) \{/;

/** The code of the blocks to copy: with the definitions in front if it uses one of them. */
export function startShorthand(): (code: string) => string {
  let definitions = "";
  const blocks = all("figure.code").filter((figure) => USE.test(codeOf(figure)));
  const isDefined = all("figure.code").some((figure) => DEFINITION.test(codeOf(figure)));
  const [first] = blocks;
  if (first === undefined || isDefined) return (code) => code;
  (first.closest(".tabbed") ?? first).before(hint());
  // Read before it is asked for: a browser lets a page copy only at once after a click.
  void readDefinitions().then(
    (text) => {
      definitions = text;
    },
    () => {},
  );
  return (code) => (USE.test(code) && definitions !== "" ? `${definitions}\n${code}` : code);
}

/** The text of a block. */
export function codeOf(figure: HTMLElement): string {
  return figure.querySelector("code")?.textContent ?? "";
}

function hint(): HTMLElement {
  const link = element("a", { href: `${GUIDES}#before-you-begin` }, "Before you begin");
  const name = element("code", {}, "api");
  return element("p", {}, name, " is the shorthand for curl from ", link, ". Copy puts its definition in front.");
}

async function readDefinitions(): Promise<string> {
  const response = await fetch(`${GUIDES}.md`);
  if (!response.ok) return "";
  const lines = (await response.text()).split("\n");
  return lines.filter((line) => DEFINITION.test(line)).join("\n");
}

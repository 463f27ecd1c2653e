/** The search in the bar: a field with a list below it, worked by keyboard or mouse. */

import { findAddress } from "../parts/addresses.ts";
import { all, element } from "./page.ts";
import { createSearch, type Hit, type SearchText } from "./search.ts";

/** Shows the search. Returns what puts the cursor into it. */
export function startSearch(): () => void {
  const input = document.querySelector<HTMLInputElement>("#shell-search");
  const list = document.querySelector<HTMLElement>("#shell-found");
  if (input === null || list === null) return () => {};
  for (const box of all(".search")) box.hidden = false;
  const box = new SearchBox(input, list);
  input.addEventListener("focus", () => void box.load());
  input.addEventListener("input", () => void box.show());
  input.addEventListener("keydown", (event) => box.onKey(event));
  addEventListener("click", ({ target }) => {
    if (!(target instanceof Node) || !(input.contains(target) || list.contains(target))) box.close();
  });
  return () => {
    input.focus();
    input.select();
  };
}

class SearchBox {
  readonly #input: HTMLInputElement;
  readonly #list: HTMLElement;
  #search: Promise<(words: string) => Hit[]> | undefined;
  #chosen = 0;

  constructor(input: HTMLInputElement, list: HTMLElement) {
    this.#input = input;
    this.#list = list;
  }

  /** The search, whose texts are read once. A read that failed is tried again with the next letter. */
  async load(): Promise<(words: string) => Hit[]> {
    this.#search ??= fetchTexts().then(createSearch);
    try {
      return await this.#search;
    } catch {
      this.#search = undefined;
      return () => [];
    }
  }

  async show(): Promise<void> {
    const words = this.#input.value.trim();
    if (words === "") return this.close();
    const find = await this.load();
    // Another letter was typed meanwhile.
    if (words !== this.#input.value.trim()) return;
    const address = findAddress(words);
    const record: Hit[] =
      address === null ? [] : [{ path: address.path, title: `Open the ${address.noun}`, page: null, excerpt: words }];
    this.#draw([...record, ...find(words)]);
  }

  close(): void {
    this.#list.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }

  onKey(event: KeyboardEvent): void {
    const options = all("[role=option]", this.#list);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      event.preventDefault();
      if (this.#list.hidden) this.#input.blur();
      this.close();
    } else if (step !== undefined && options.length > 0) {
      event.preventDefault();
      this.#choose((this.#chosen + step + options.length) % options.length);
    } else if (event.key === "Enter" && !this.#list.hidden) {
      event.preventDefault();
      options[this.#chosen]?.click();
      this.close();
    }
  }

  #draw(hits: readonly Hit[]): void {
    const options = hits.map(({ path, title, page, excerpt }, index) => {
      const words = page === null ? [title] : [title, element("span", {}, page)];
      const option = element("a", { href: path, role: "option", id: `shell-found-${index}`, tabindex: "-1" });
      option.append(element("strong", {}, ...words), element("small", {}, excerpt));
      option.addEventListener("pointermove", () => this.#choose(index));
      option.addEventListener("click", () => this.close());
      return option;
    });
    const none = element(
      "p",
      { role: "option", "aria-disabled": "true", "aria-selected": "false" },
      "Nothing found. Try another word.",
    );
    this.#list.replaceChildren(...(options.length === 0 ? [none] : options));
    this.#list.hidden = false;
    this.#input.setAttribute("aria-expanded", "true");
    this.#choose(0);
  }

  #choose(index: number): void {
    this.#chosen = index;
    for (const [at, option] of all("a[role=option]", this.#list).entries()) {
      option.setAttribute("aria-selected", String(at === index));
      if (at !== index) continue;
      this.#input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    }
  }
}

async function fetchTexts(): Promise<SearchText[]> {
  const response = await fetch("/docs/search.json");
  if (!response.ok) throw new Error(`The service answered ${response.status}.`);
  return (await response.json()) as SearchText[];
}

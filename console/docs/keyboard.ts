/** The keys of the documentation. Those of the console mean the same here. */

import { all } from "./page.ts";

/** A part whose heading is under the bar at the top counts as read. */
const BAR_HEIGHT = 72;

/** Listens to the keyboard. `search` puts the cursor into the search. */
export function listenToKeys(search: () => void): void {
  const keys: Readonly<Record<string, () => void>> = {
    "/": search,
    "Mod+k": search,
    j: () => goToPart(1),
    k: () => goToPart(-1),
    "]": () => goToPage(1),
    "[": () => goToPage(-1),
    "?": showKeys,
    Escape: closePages,
  };
  addEventListener("keydown", (event) => {
    const name = (event.metaKey || event.ctrlKey ? "Mod+" : "") + event.key;
    const run = keys[name];
    if (run === undefined || event.altKey || event.defaultPrevented) return;
    if (name !== "Mod+k" && (isTyping(event.target) || document.querySelector("dialog[open]") !== null)) return;
    event.preventDefault();
    run();
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Goes to the next or the previous part of the page. */
function goToPart(step: 1 | -1): void {
  const parts = all("article h2[id], article h3[id], article section[id]");
  const tops = parts.map((part) => part.getBoundingClientRect().top);
  const at =
    step === 1 ? tops.findIndex((top) => top > BAR_HEIGHT) : tops.findLastIndex((top) => top < BAR_HEIGHT - 16);
  const part = parts[at];
  if (part === undefined) {
    if (step === -1) scrollTo({ top: 0 });
    return;
  }
  part.scrollIntoView();
  part.querySelector<HTMLElement>("a")?.focus({ preventScroll: true });
}

/** Goes to the next or the previous page of the side bar. */
function goToPage(step: 1 | -1): void {
  const links = all("#shell-pages nav a").filter((link) => !link.getAttribute("href")?.startsWith("#"));
  const at = links.findIndex((link) => link.getAttribute("aria-current") === "page");
  links[at + step]?.click();
}

/** Shows the sheet of keys. */
export function showKeys(): void {
  document.querySelector<HTMLDialogElement>("#shell-keys")?.showModal();
}

/** Closes the list of pages, which covers a narrow page. */
function closePages(): void {
  if (location.hash === "#shell-pages") location.hash = "shell-content";
}

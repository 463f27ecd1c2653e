/** Makes tabs of the same code for several clients, and a button on each block that copies it. */

import { copyText } from "../parts/clipboard.ts";
import { onPreference, readPreference, writePreference } from "../parts/kept.ts";
import { all, element } from "./page.ts";
import { codeOf, startShorthand } from "./shorthand.ts";

const COPIED_MS = 1_500;
/** The choice that the console keeps for its commands too. */
const LANGUAGE = "language";

/** Shows one client at a time in each group. The choice is kept, and is the same for all groups. */
export function startTabs(): void {
  const groups = all(".tabbed").map(makeTabs);
  const show = () => {
    const language = readPreference(LANGUAGE);
    for (const group of groups) group(language);
  };
  show();
  onPreference(show);
}

/** Makes the tabs of one group. Returns what shows a language, or the first if the group does not have it. */
function makeTabs(group: HTMLElement, number: number): (language: string | null) => void {
  const panels = all("figure", group);
  const tabs = panels.map((panel, index) => {
    const label = panel.querySelector("figcaption")?.textContent ?? "";
    panel.querySelector("figcaption")?.remove();
    panel.id = `code-${number}-${index}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", label);
    const tab = element("button", { type: "button", role: "tab", "aria-controls": panel.id }, label);
    tab.addEventListener("click", () => choose(tab, label));
    return { tab, panel, language: label.toLowerCase() };
  });
  const list = element("div", { role: "tablist", "aria-label": "Language" }, ...tabs.map(({ tab }) => tab));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.findIndex(({ tab }) => tab === document.activeElement);
    const next = step === undefined ? undefined : tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    next.tab.focus();
    next.tab.click();
  });
  group.prepend(list);
  return (language) => {
    const shown = tabs.find((one) => one.language === language) ?? tabs[0];
    for (const one of tabs) {
      one.panel.hidden = one !== shown;
      one.tab.setAttribute("aria-selected", String(one === shown));
      one.tab.tabIndex = one === shown ? 0 : -1;
    }
  };
}

/** Keeps the choice. The group stays where it is on the screen, although those above it change too. */
function choose(tab: HTMLElement, label: string): void {
  const before = tab.getBoundingClientRect().top;
  writePreference(LANGUAGE, label.toLowerCase());
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: "instant" });
}

/** Puts a button on each block of code. */
export function startCopying(): void {
  const runnable = startShorthand();
  for (const figure of all("figure.code")) {
    const button = element("button", { type: "button", class: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      const isCopied = await copyText(runnable(codeOf(figure)));
      button.textContent = isCopied ? "Copied" : "Select it, and copy it by hand";
      setTimeout(() => {
        button.textContent = "Copy";
      }, COPIED_MS);
    });
    figure.append(button);
  }
}

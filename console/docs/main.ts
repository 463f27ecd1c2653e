/** Entry of the documentation's script: theme, search, tabs, copy buttons, forms that send requests, and keys. Everything on the pages can be read without it. */

import { readPreference, writePreference } from "../parts/kept.ts";
import { applyTheme, themeAfter, themeOf } from "../parts/themes.ts";
import { startCopying, startTabs } from "./code.ts";
import { listenToKeys, showKeys } from "./keyboard.ts";
import { startSearch } from "./search-box.ts";
import { startTrying } from "./try-it.ts";
import "./docs.css";

/** An address of the page that the reference once was, such as `/docs#sendMessage`, leads on to where the part is now. */
function followFormerAnchor(): void {
  if (location.pathname !== "/docs" || location.hash === "") return;
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const link = target?.closest(".index, .names, h3")?.contains(target) === true ? target.querySelector("a") : null;
  if (link !== null) location.replace(link.href);
}

function startThemeButton(): void {
  const button = document.querySelector<HTMLButtonElement>("#shell-theme");
  if (button === null) return;
  const name = () => {
    button.ariaLabel = `Theme: ${themeOf(readPreference("theme"))}`;
    button.title = button.ariaLabel;
  };
  button.addEventListener("click", () => {
    writePreference("theme", themeAfter(themeOf(readPreference("theme"))));
    applyTheme();
    name();
  });
  name();
  button.hidden = false;
}

function startHelpButton(): void {
  const button = document.querySelector<HTMLButtonElement>("#shell-help");
  button?.addEventListener("click", showKeys);
  if (button !== null) button.hidden = false;
}

/** Brings the present page into view in the long list. */
function showCurrentPage(): void {
  const pages = document.querySelector<HTMLElement>("#shell-pages");
  const current = pages?.querySelector<HTMLElement>("[aria-current=page]");
  if (pages && current) pages.scrollTop = current.offsetTop - pages.clientHeight / 3;
}

function start(): void {
  followFormerAnchor();
  addEventListener("hashchange", followFormerAnchor);
  startTabs();
  startCopying();
  startTrying();
  startThemeButton();
  startHelpButton();
  showCurrentPage();
  listenToKeys(startSearch());
}

applyTheme();
if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
else start();

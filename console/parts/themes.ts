/** Light, dark, or as the system says: the choice on the page. */

import { readPreference } from "./kept.ts";

/** The themes, in the order in which a button goes through them. */
const THEMES = ["system", "light", "dark"] as const;

/** A choice of theme. */
export type Theme = (typeof THEMES)[number];

/** The theme of a kept choice. */
export function themeOf(kept: string | null): Theme {
  return THEMES.find((theme) => theme === kept) ?? "system";
}

/** The theme after another. */
export function themeAfter(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
}

/** Puts the kept theme on the page: before the first render, so that nothing flashes. */
export function applyTheme(): void {
  const theme = themeOf(readPreference("theme"));
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

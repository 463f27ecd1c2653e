/** The theme and the button that changes it. */

import { usePreference } from "../parts/preference.ts";
import { applyTheme, type Theme, themeAfter, themeOf } from "../parts/themes.ts";

/** The theme, and what goes on to the next one. */
export function useTheme(): { theme: Theme; next: () => void } {
  const [kept, setKept] = usePreference("theme", "system");
  const theme = themeOf(kept);
  const next = () => {
    setKept(themeAfter(theme));
    applyTheme();
  };
  return { theme, next };
}

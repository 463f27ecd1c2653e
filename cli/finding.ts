/** What a check of `doctor` ends in. Pure. */

/** How it stands with one thing. */
export type State = "ok" | "warning" | "broken";

/** What one check has found, and what to do about it: null where nothing is to be done. */
export interface Finding {
  check: string;
  state: State;
  found: string;
  advice: string | null;
}

/** That all is well. */
export function ok(check: string, found: string): Finding {
  return { check, state: "ok", found, advice: null };
}

/** Worth a look. */
export function warning(check: string, found: string, advice: string): Finding {
  return { check, state: "warning", found, advice };
}

/** Does not work as it is. */
export function broken(check: string, found: string, advice: string): Finding {
  return { check, state: "broken", found, advice };
}

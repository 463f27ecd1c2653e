/** The result of one check of `doctor`. Pure. */

/** How severe a result is. */
export type State = "ok" | "warning" | "broken";

/** The result of a check; `advice` is null if nothing has to be done. */
export interface CheckResult {
  check: string;
  state: State;
  found: string;
  advice: string | null;
}

/** A check that found nothing wrong. */
export function ok(check: string, found: string): CheckResult {
  return { check, state: "ok", found, advice: null };
}

/** A check that found something to look at. */
export function warning(check: string, found: string, advice: string): CheckResult {
  return { check, state: "warning", found, advice };
}

/** A check that found something that does not work. */
export function broken(check: string, found: string, advice: string): CheckResult {
  return { check, state: "broken", found, advice };
}

/** Refusals of the service. Pure. */

import { TightbeamError } from "../../sdk/errors.ts";

/** Whether a record that was shown must not be shown any more: the service refuses it for good, and is not just away or busy. */
export function isGone(error: unknown): boolean {
  if (!(error instanceof TightbeamError)) return false;
  const { status } = error;
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

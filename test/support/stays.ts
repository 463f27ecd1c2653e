/** A client of a test that never leaves. */

/** Its signal, which is never aborted: see `ApiRequest.gone`. */
export const STAYS: AbortSignal = new AbortController().signal;

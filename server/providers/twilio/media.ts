/** Fetches the files of inbound messages: from the API with credentials, from redirect targets without. */

import type { Api, NoResponse, TwilioResponse } from "./api.ts";
import { canBeReached, type TwilioSettings } from "./settings.ts";

/** Largest file: 100 MiB. */
const FILE_BYTES_MAX = 104_857_600;
const REDIRECTS_MAX = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const GONE: ReadonlySet<number> = new Set([404, 410]);

/**
 * Fetches a file by its `MediaUrl`. Null if Twilio does not have it any more, or the address is not the API's. Throws
 * if the file cannot be fetched at present; the error contains no address.
 */
export async function fetchMedia(
  api: Api,
  settings: TwilioSettings,
  reference: string,
  abort: AbortSignal,
): Promise<Uint8Array | null> {
  const own = URL.parse(settings.baseUrl)?.origin;
  let target = URL.parse(reference);
  if (target === null || target.origin !== own) return null;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const isForeign = redirects > 0;
    const answer: TwilioResponse | NoResponse = await api.request({
      method: "GET",
      path: target.toString(),
      abort,
      bodyBytesMax: FILE_BYTES_MAX,
      isForeign,
    });
    if ("noResponse" in answer) throw new Error(`the file cannot be fetched: ${answer.reason}`);
    if (answer.status === 200) return answer.body;
    if (GONE.has(answer.status)) return null;
    if (!REDIRECTS.has(answer.status)) throw new Error(`the file cannot be fetched: ${answer.status}`);
    const next = URL.parse(answer.headers.location ?? "", target.toString());
    if (next === null || !mayLeadTo(next.toString(), settings))
      throw new Error("the file redirects to an address that is not allowed");
    target = next;
  }
  throw new Error("the file has too many redirects");
}

/** Whether a redirect may lead to this address: not from the Internet into our own network. */
function mayLeadTo(url: string, settings: TwilioSettings): boolean {
  return /^https?:/.test(url) && canBeReached(url, settings);
}

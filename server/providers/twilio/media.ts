/** Files that came with a message: fetched from the API with credentials, and from wherever it sends us without. */

import type { Api, NoResponse, TwilioResponse } from "./api.ts";
import { canBeReached, type TwilioSettings } from "./settings.ts";

/** Largest file: 100 MiB. */
const FILE_BYTES_MAX = 104_857_600;
const REDIRECTS_MAX = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const GONE: ReadonlySet<number> = new Set([404, 410]);

/**
 * The bytes of a file by its `MediaUrl`; null when Twilio has it no more, or never had: an address that is not the API's is
 * not asked. Throws when it cannot be had at present. No address stands in what is thrown.
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
      throw new Error("the file is at an address not to be asked");
    target = next;
  }
  throw new Error("the file is sent on from address to address");
}

/** Where the API may send us: not from the Internet into our own network. */
function mayLeadTo(url: string, settings: TwilioSettings): boolean {
  return /^https?:/.test(url) && canBeReached(url, settings);
}

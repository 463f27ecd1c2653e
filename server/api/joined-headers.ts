/** Headers as the routes beside `/v1` give them on. */

import type { IncomingHttpHeaders } from "node:http";

/** Headers by their lower-case names; one that came several times has its values joined by commas. */
export function joinedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = ""]) => [name, [value].flat().join(", ")]));
}

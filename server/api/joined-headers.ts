/** Request headers in the form in which hooks and inboxes pass them on. */

import type { IncomingHttpHeaders } from "node:http";

/** Headers by lower-case name. The values of a repeated header are joined by commas. */
export function joinedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = ""]) => [name, [value].flat().join(", ")]));
}

/** Whether a proxy passed a request on, by the headers that proxies add. */

import type { IncomingMessage } from "node:http";

/** Whether a request carries a header that only proxies add: Forwarded (RFC 7239), Via (RFC 9110), or X-Forwarded-For and X-Real-IP. */
export function isForwarded({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return (
    headers.forwarded !== undefined ||
    headers["x-forwarded-for"] !== undefined ||
    headers.via !== undefined ||
    headers["x-real-ip"] !== undefined
  );
}

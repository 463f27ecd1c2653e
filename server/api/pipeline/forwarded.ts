/** Recognises requests that a proxy has forwarded. */

import type { IncomingMessage } from "node:http";

/** Whether a request has a header that only proxies add: Forwarded (RFC 7239), Via (RFC 9110), X-Forwarded-For or X-Real-IP. */
export function isForwarded({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return (
    headers.forwarded !== undefined ||
    headers["x-forwarded-for"] !== undefined ||
    headers.via !== undefined ||
    headers["x-real-ip"] !== undefined
  );
}

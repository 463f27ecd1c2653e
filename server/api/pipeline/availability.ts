/** Refuses work that the service cannot take on now (503): while it starts or stops, and while it is overloaded. */

import { closing, overloaded } from "../../core/error.ts";
import type { Exchange } from "./exchange.ts";

/** Throws a 503 while the service starts or stops, and for a write of a customer while the service is overloaded. */
export function checkAvailability({ edge, request, compiled, wasClosing }: Exchange): void {
  if (wasClosing) throw closing();
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (isRead || compiled?.route.scope === "admin") return;
  const retryAfterSeconds = edge.overloadSeconds();
  if (retryAfterSeconds !== null) throw overloaded(retryAfterSeconds);
}

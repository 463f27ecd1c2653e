/** Refuses work that the service cannot take on now (503): while it starts or stops, has no database, or is overloaded. */

import { closing, overloaded, withoutDatabase } from "../../core/error.ts";
import type { Exchange } from "./exchange.ts";

/** Throws a 503 while the service starts or stops, while the database cannot be reached, and for a write of a customer while the service is overloaded. */
export function checkAvailability({ edge, request, compiled, wasClosing }: Exchange): void {
  if (wasClosing) throw closing();
  if (!edge.hasDatabase()) throw withoutDatabase();
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (isRead || compiled?.route.scope === "admin") return;
  const retryAfterSeconds = edge.overloadSeconds();
  if (retryAfterSeconds !== null) throw overloaded(retryAfterSeconds);
}

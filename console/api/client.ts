/** The client of `sdk/` over the session's cookie. */

import { Tightbeam } from "../../sdk/client.ts";
import type { Session } from "../../sdk/wire.ts";
import { noteAnswer } from "./clock-skew.ts";

/** Parts of a client that its user may replace. */
interface ClientParts {
  /** Called when the service no longer knows the session. */
  onSignedOut(): void;
  fetch?: typeof fetch;
  wait?: (delayMs: number, why: Error, signal?: AbortSignal) => Promise<void>;
}

/** A client for this session; an admin's session acts for `customerId`. */
export function connectSession(session: Session, customerId: string | null, parts: ClientParts): Tightbeam {
  const send = parts.fetch ?? fetch;
  return new Tightbeam({
    baseUrl: location.origin,
    headers: {
      "X-CSRF-Token": session.csrfToken,
      "Tightbeam-Customer": session.scope === "admin" && customerId !== null ? customerId : undefined,
    },
    wait: parts.wait,
    fetch: async (url, init) => {
      const response = await send(url, { ...init, credentials: "same-origin" });
      noteAnswer(response);
      if (response.status === 401) parts.onSignedOut();
      return response;
    },
  });
}

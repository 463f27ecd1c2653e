/** The session, its client and the live stream, for every screen. */

import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import type { Tightbeam } from "../../sdk/client.ts";
import type { Delivery, Event, Session } from "../../sdk/wire.ts";
import type { WireRow } from "../../sdk/wire-rows.ts";
import type { Live } from "./live.ts";
import type { LiveState } from "./live-notes.ts";

/** A browser that is signed in. */
export interface Connected {
  session: Session;
  api: Tightbeam;
  live: Live;
  /** The customer whose records are shown; null as long as the service chooses: the first one. */
  customerId: string | null;
  /** Shows another customer's records; for an admin's session. */
  setCustomerId: (id: string | null) => void;
  /** Ends the session. */
  leave: () => void;
}

const ConnectedContext = createContext<Connected | null>(null);

/** Gives a tree its connection. */
export const ConnectedProvider = ConnectedContext.Provider;

/** The connection. Throws outside of `ConnectedProvider`. */
export function useConnected(): Connected {
  const connected = useContext(ConnectedContext);
  if (connected === null) throw new Error("no session is connected here");
  return connected;
}

/** The client of the API. */
export function useApi(): Tightbeam {
  return useConnected().api;
}

/** Whether events arrive as they happen. */
export function useLiveState(): LiveState {
  const { live } = useConnected();
  return useSyncExternalStore(live.onChange, live.state);
}

/** The rows of the Wire, in order of time, those from before the page was opened among them. */
export function useWireRows(): readonly WireRow[] {
  const { live } = useConnected();
  const state = useLiveState();
  // A read that failed while the service was away is made again once it is back.
  useEffect(() => {
    if (state !== "reconnecting") live.recall();
  }, [live, state]);
  return useSyncExternalStore(live.onChange, live.rows);
}

/** A delivery as the stream told it last; null if it did not. */
export function useToldDelivery(id: string): Delivery | null {
  const { live } = useConnected();
  return useSyncExternalStore(live.onChange, () => live.delivery(id));
}

/** Calls back with the events of each tenth of a second, as long as the component is shown. */
export function useLiveEvents(listener: (events: readonly Event[]) => void): void {
  const { live } = useConnected();
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(
    () =>
      live.onItems((items) => {
        const events = items.flatMap((item) => (item.kind === "event" ? [item.event] : []));
        if (events.length > 0) latest.current(events);
      }),
    [live],
  );
}

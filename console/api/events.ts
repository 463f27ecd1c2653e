/** Events: lists, and one event. */

import { useQuery } from "@tanstack/react-query";
import type { EventQuery } from "../../sdk/events.ts";
import { useApi } from "./context.ts";

/** The newest events that match: one page of at most 100. */
export function useEvents(query: EventQuery) {
  const api = useApi();
  return useQuery({
    queryKey: ["events", "list", query],
    queryFn: ({ signal }) => api.events.list({ limit: 100, ...query }, { signal }),
  });
}

/** One event, as it was delivered. */
export function useEvent(id: string) {
  const api = useApi();
  return useQuery({ queryKey: ["events", "one", id], queryFn: ({ signal }) => api.events.get(id, { signal }) });
}

/** Deliveries of events to webhook endpoints. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { DeliveryQuery } from "../../sdk/webhooks.ts";
import type { Delivery } from "../../sdk/wire.ts";
import { useApi } from "./context.ts";
import type { PageSource } from "./pages.ts";

/** The live stream tells attempts of the deliveries that it follows. There may be more, so that a pending delivery is asked for again. */
const PENDING_MS = 10_000;

function refreshMsOf(deliveries: readonly Delivery[] | undefined): number | false {
  return deliveries?.some(({ status }) => status === "pending") === true ? PENDING_MS : false;
}

/** Deliveries that match, newest first. */
export function deliverySource(query: DeliveryQuery): PageSource<Delivery> {
  return {
    noun: "deliveries",
    query,
    read: async (api, cursor, options) => {
      const { deliveries, pagination } = await api.webhooks.deliveries.list({ ...query, limit: 100, cursor }, options);
      return { rows: deliveries, next: pagination.nextCursor };
    },
    rowId: ({ id }) => id,
    refreshMs: refreshMsOf,
  };
}

/** The newest deliveries that match: one page of at most 100. */
export function useDeliveries(query: DeliveryQuery) {
  const api = useApi();
  return useQuery({
    queryKey: ["deliveries", "list", query],
    queryFn: ({ signal }) => api.webhooks.deliveries.list({ limit: 100, ...query }, { signal }),
    refetchInterval: ({ state }) => refreshMsOf(state.data?.deliveries),
  });
}

/** One delivery. */
export function useDelivery(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["deliveries", "one", id],
    queryFn: ({ signal }) => api.webhooks.deliveries.get(id, { signal }),
    refetchInterval: ({ state }) => refreshMsOf(state.data && [state.data]),
  });
}

/** Attempts that are asked for at once. */
const RETRIES_AT_ONCE = 4;

/** Makes one more attempt of each delivery at once. Throws at the first refusal. */
export function useRetryDeliveries() {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async (ids: readonly string[]) => {
      for (let first = 0; first < ids.length; first += RETRIES_AT_ONCE) {
        const some = ids.slice(first, first + RETRIES_AT_ONCE);
        await Promise.all(some.map((id) => api.webhooks.deliveries.retry(id)));
      }
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ["deliveries"] }),
  });
}

/** Makes one more attempt of a delivery at once. */
export function useRetryDelivery() {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api.webhooks.deliveries.retry(id),
    onSuccess: () => cache.invalidateQueries({ queryKey: ["deliveries"] }),
  });
}

/** The request log: lists, one request with its bodies, and the errors in groups. */

import { useQuery } from "@tanstack/react-query";
import type { RequestQuery } from "../../sdk/requests.ts";
import type { LoggedRequest } from "../../sdk/wire.ts";
import { useApi } from "./context.ts";
import type { PageSource } from "./pages.ts";

/** Refused requests make no event, so that the log is also read again by the clock. */
const REFRESH_MS = 5_000;

/** Requests that match, newest first. */
export function requestSource(query: RequestQuery): PageSource<LoggedRequest> {
  return {
    noun: "requests",
    query,
    read: async (api, cursor, options) => {
      const { requests, pagination } = await api.requests.list({ ...query, limit: 100, cursor }, options);
      return { rows: requests, next: pagination.nextCursor };
    },
    rowId: ({ id }) => id,
    refreshMs: REFRESH_MS,
  };
}

/** One request with its bodies. */
export function useRequest(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["requests", "one", id],
    queryFn: ({ signal }) => api.requests.get(id, { signal }),
  });
}

/** The errors of the log since an instant, the largest group first. */
export function useRequestErrors(query: Pick<RequestQuery, "since" | "customerId">) {
  const api = useApi();
  return useQuery({
    queryKey: ["requests", "errors", query],
    queryFn: async ({ signal }) => (await api.requests.errors(query, { signal })).errors,
    refetchInterval: REFRESH_MS,
  });
}

/** The service as a whole: its health, usage, numbers, endpoints and customers. */

import { useQuery } from "@tanstack/react-query";
import type { UsageQuery } from "../../sdk/client.ts";
import type { Health } from "../../sdk/wire.ts";
import { useApi, useConnected } from "./context.ts";

const HEALTH_MS = 15_000;

/** The health of the service. Its answer of 503 is an answer too. */
export function useHealth() {
  return useQuery({
    queryKey: ["health"],
    queryFn: async ({ signal }): Promise<Health> => {
      const response = await fetch("/health", { signal, credentials: "same-origin" });
      return (await response.json()) as Health;
    },
    refetchInterval: HEALTH_MS,
  });
}

/** The service as its operator sees it, for an admin's session. */
export function useServiceDetails() {
  const { api, session } = useConnected();
  return useQuery({
    queryKey: ["service"],
    queryFn: ({ signal }) => api.admin.service({ signal }),
    refetchInterval: HEALTH_MS,
    enabled: session.scope === "admin",
  });
}

/** The instances, at most the newest 100, for an admin's session. */
export function useInstances() {
  const { api, session } = useConnected();
  return useQuery({
    queryKey: ["instances", "newest"],
    queryFn: async ({ signal }) => (await api.admin.instances.list({ limit: 100 }, { signal })).instances,
    enabled: session.scope === "admin",
  });
}

/** Usage of a period. */
export function useUsage(query: UsageQuery) {
  const api = useApi();
  return useQuery({ queryKey: ["usage", query], queryFn: ({ signal }) => api.usage(query, { signal }) });
}

/** The customer's own numbers, with their health. */
export function useNumbers() {
  const api = useApi();
  return useQuery({ queryKey: ["numbers"], queryFn: ({ signal }) => api.numbers({ signal }) });
}

/** The mark of an endpoint that is gone ends with any 2xx: meanwhile the endpoints are asked for again, in milliseconds. */
const GONE_MS = 10_000;

/** All webhook endpoints. */
export function useEndpoints() {
  const api = useApi();
  return useQuery({
    queryKey: ["webhooks", "list"],
    queryFn: ({ signal }) => api.webhooks.endpoints.list({ signal }),
    refetchInterval: ({ state }) => (state.data?.some(({ isGone }) => isGone) === true ? GONE_MS : false),
  });
}

/** One customer with its numbers, for an admin's session. */
export function useCustomer(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["customers", "one", id],
    queryFn: ({ signal }) => api.admin.customers.get(id, { signal }),
  });
}

/** The customers, for an admin's session. */
export function useCustomers() {
  const { api, session } = useConnected();
  return useQuery({
    queryKey: ["customers", "list"],
    queryFn: ({ signal }) => api.admin.customers.list({ limit: 100 }, { signal }),
    enabled: session.scope === "admin",
  });
}

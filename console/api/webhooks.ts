/** Webhook endpoints: what can be done with one. `service.ts` lists them. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { CreateWebhook, EventType, Replay, ReplayEvents, UpdateWebhook } from "../../sdk/wire.ts";
import { useApi } from "./context.ts";

const PAGE_SIZE = 100;
/** More are not counted: the number is then "1,000 or more". */
const COUNTED_PAGES_MAX = 10;
/** Time between two looks at a replay: a key has 100 requests a minute. */
const PROGRESS_MS = 1_000;

/** Makes a change, and reads the endpoints and deliveries again. */
function useChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ["webhooks"] }),
        cache.invalidateQueries({ queryKey: ["deliveries"] }),
      ]),
  });
}

/** Creates an endpoint. Its answer has the secret, once. */
export function useCreateEndpoint() {
  const api = useApi();
  return useChange((webhook: CreateWebhook) => api.webhooks.endpoints.create(webhook));
}

/** Changes an endpoint, pauses it or resumes it. */
export function useUpdateEndpoint(id: string) {
  const api = useApi();
  return useChange((changes: UpdateWebhook) => api.webhooks.endpoints.update(id, changes));
}

/** Deletes an endpoint. */
export function useDeleteEndpoint(id: string) {
  const api = useApi();
  return useChange(() => api.webhooks.delete(id));
}

/** Gives an endpoint a new secret. The old one signs beside it for the grace period. */
export function useRotateSecret(id: string) {
  const api = useApi();
  return useChange((gracePeriodSeconds: number) => api.webhooks.rotateSecret(id, { gracePeriodSeconds }));
}

/** Sends a `webhook.test` event. */
export function useTestEndpoint(id: string) {
  const api = useApi();
  return useChange(() => api.webhooks.test(id));
}

/** Begins to deliver stored events of a period again. */
export function useBeginReplay(id: string) {
  const api = useApi();
  return useChange((wish: ReplayEvents) => api.webhooks.replay(id, wish));
}

/** Stops the replay of an endpoint. */
export function useStopReplay(id: string) {
  const api = useApi();
  return useChange(() => api.webhooks.stopReplay(id));
}

/** The last replay of an endpoint, read again until its deliveries have ended; null if there was none. */
export function useReplay(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["webhooks", id, "replay"],
    staleTime: 0,
    refetchInterval: ({ state }: { state: { data?: Replay | null | undefined } }) =>
      isOver(state.data) ? false : PROGRESS_MS,
    queryFn: ({ signal }) => api.webhooks.getReplay(id, { signal }),
  });
}

function isOver(replay: Replay | null | undefined): boolean {
  if (replay === undefined) return false;
  return replay === null || (replay.status !== "running" && replay.succeeded + replay.failed >= replay.made);
}

/** A count that ends at a limit. */
export interface Counted {
  count: number;
  /** Whether there are more than were counted. */
  isAtLeast: boolean;
}

/** The number of stored events of some types since an instant; not counted without an instant. */
export function useEventCount(since: string | undefined, types: readonly EventType[]) {
  const api = useApi();
  return useQuery({
    queryKey: ["replays", "count", since, types],
    enabled: since !== undefined,
    queryFn: async ({ signal }): Promise<Counted> => {
      const [type, ...others] = types;
      const filter = others.length === 0 ? { type } : {};
      let [count, cursor] = [0, undefined as string | undefined];
      for (let page = 0; page < COUNTED_PAGES_MAX; page++) {
        const { events, pagination } = await api.events.list({ ...filter, limit: PAGE_SIZE, cursor }, { signal });
        const recent = events.filter(({ timestamp }) => timestamp >= (since ?? ""));
        count += recent.filter((event) => types.includes(event.type)).length;
        cursor = pagination.nextCursor ?? undefined;
        if (recent.length < events.length || cursor === undefined) return { count, isAtLeast: false };
      }
      return { count, isAtLeast: true };
    },
  });
}

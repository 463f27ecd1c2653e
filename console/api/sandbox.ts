/** The sandbox: its clock, its inbox, and what its phones do. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { PhoneMessage, SandboxClock } from "../../sdk/wire.ts";
import { useApi, useConnected } from "./context.ts";

const CLOCK_MS = 15_000;
/** A clock that is less than this ahead shows real time. */
const MOVED_MS_MIN = 1_000;

/** Whether the sandbox's clock was moved. */
export function isMoved(offsetMs: number): boolean {
  return offsetMs >= MOVED_MS_MIN;
}

/** The sandbox's clock; not asked for outside of a sandbox. */
export function useClock() {
  const { api, session } = useConnected();
  return useQuery({
    queryKey: ["clock"],
    queryFn: ({ signal }) => api.sandbox.clock.get({ signal }),
    enabled: session.isSandbox,
    refetchInterval: CLOCK_MS,
  });
}

/** Moves the clock forward by a duration such as `1h`, or back to real time by null. */
export function useMoveClock() {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (by: string | null): Promise<SandboxClock> =>
      by === null ? api.sandbox.clock.reset() : api.sandbox.clock.advance(by),
    onSuccess: () => cache.invalidateQueries(),
  });
}

/** The built-in receiver of webhooks; not asked for where it is off. */
export function useInbox() {
  const { api, session } = useConnected();
  return useQuery({
    queryKey: ["inbox"],
    queryFn: ({ signal }) => api.sandbox.inbox.get({ signal }),
    enabled: session.isInboxOn,
  });
}

/** Makes the inbox answer 503 to the next requests, so that a retry can be seen. */
export function useFailInbox() {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (failFirst: number) => api.sandbox.inbox.behave({ failFirst }),
    onSuccess: () => cache.invalidateQueries({ queryKey: ["inbox"] }),
  });
}

/** Sends a message as a contact, from the contact's phone. */
export function useWriteAsContact() {
  const api = useApi();
  return useMutation({
    mutationFn: ({ number, message }: { number: string; message: PhoneMessage }) =>
      api.sandbox.phone(number).write(message),
  });
}

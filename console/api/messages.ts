/** Messages: lists, one message, and what can be done with it. */

import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import type { MessageQuery } from "../../sdk/messages.ts";
import type { AcceptedMessage, Event, Message, SendMessage } from "../../sdk/wire.ts";
import { useApi } from "./context.ts";
import type { PageSource } from "./pages.ts";

const PAGE_SIZE = 50;
/** A message whose outcome is near is asked for again, in case its timeline grows without an event. */
const MOVING_MS = 2_000;
const MOVING = new Set(["queued", "pending"]);

/** Messages that match, newest first. */
export function messageSource(query: MessageQuery): PageSource<Message> {
  return {
    noun: "messages",
    query,
    read: async (api, cursor, options) => {
      const { messages, pagination } = await api.messages.list({ ...query, limit: PAGE_SIZE, cursor }, options);
      return { rows: messages, next: pagination.nextCursor };
    },
    rowId: ({ id }) => id,
    changesOf: statusChanges,
  };
}

/** One message. */
export function useMessage(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["messages", "one", id],
    queryFn: ({ signal }) => api.messages.get(id, { signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && MOVING.has(state.data.status) ? MOVING_MS : false),
  });
}

/** The messages of these ids, as far as they are known; none that is gone. */
export function useMessagesOf(ids: readonly string[]): ReadonlyMap<string, Message> {
  const api = useApi();
  const found = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["messages", "one", id],
      queryFn: ({ signal }: { signal: AbortSignal }) => api.messages.get(id, { signal }),
    })),
  });
  return new Map(found.flatMap(({ data }) => (data === undefined ? [] : [[data.id, data]])));
}

/** The contact's address: the recipient of what was sent, the sender of what was received. */
export function contactOf(message: Message): string {
  return message.direction === "inbound" ? message.from : message.to;
}

/** Sends a message, and shows it in the lists. */
export function useSendMessage() {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (message: SendMessage): Promise<AcceptedMessage> => api.messages.send(message),
    onSuccess: () => cache.invalidateQueries({ queryKey: ["messages", "pages"] }),
  });
}

/** Sends a failed message again by the channel that failed; `mayDuplicate` after `OUTCOME_UNKNOWN`. */
export function useRetryMessage() {
  const api = useApi();
  return useChange(({ id, mayDuplicate }: { id: string; mayDuplicate: boolean }) =>
    api.messages.retry(id, mayDuplicate ? { mayDuplicate } : undefined),
  );
}

/** Cancels a scheduled message. */
export function useCancelMessage() {
  const api = useApi();
  return useChange(({ id }: { id: string }) => api.messages.cancel(id));
}

/** A change whose result is the message as it now is. */
function useChange<Input>(change: (input: Input) => Promise<Message>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (message) => {
      cache.setQueryData(["messages", "one", message.id], message);
      void cache.invalidateQueries({ queryKey: ["messages", "pages"] });
    },
  });
}

/** The statuses of messages that events tell, by their ids. */
function statusChanges(events: readonly Event[]): Map<string, Partial<Message>> {
  const changes = new Map<string, Partial<Message>>();
  for (const { type, data } of events) {
    if (!("messageId" in data) || typeof data.messageId !== "string") continue;
    if (!("status" in data) || !type.startsWith("message.")) continue;
    const { status, channel } = data as Pick<Message, "status" | "channel">;
    changes.set(data.messageId, { status, channel });
  }
  return changes;
}

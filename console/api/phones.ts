/** The phones of the sandbox: their threads, their settings, and what a contact does on them. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Tightbeam } from "../../sdk/client.ts";
import type { MessageQuery } from "../../sdk/messages.ts";
import type {
  Call,
  Chat,
  Event,
  Message,
  PhoneCall,
  PhoneMessage,
  PhonePayment,
  PhoneReaction,
  PhoneSettings,
} from "../../sdk/wire.ts";
import { useApi } from "./context.ts";

/** Messages of a thread that a phone shows. */
const THREAD_SIZE = 100;
/** Conversations that are looked through for groups. */
const CHATS_MAX = 100;
/** Events of one type that mark a thread. */
const MARKS_MAX = 100;
const MARKS = ["message.reaction", "message.edited", "message.unsent"] as const;

/**
 * The newest messages between a contact and the service, or of a group, newest first. A thread is named by the two ends of its
 * messages, since one without a message is not found.
 */
export function useThread(number: string, group: Chat | null) {
  const api = useApi();
  return useQuery({
    queryKey: ["messages", "thread", group?.id ?? number],
    queryFn: async ({ signal }): Promise<readonly Message[]> => {
      const read = async (query: MessageQuery) =>
        (await api.messages.list({ ...query, limit: THREAD_SIZE }, { signal })).messages;
      if (group !== null) return await read({ chatId: group.id });
      const [sent, written] = await Promise.all([read({ to: number }), read({ from: number })]);
      // In a group the contact is the sender too.
      const isOfGroup = new Set((await readGroups(api, signal)).map(({ id }) => id));
      const own = written.filter(({ chatId }) => chatId === null || !isOfGroup.has(chatId));
      return [...sent, ...own].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, THREAD_SIZE);
    },
  });
}

async function readGroups(api: Tightbeam, signal: AbortSignal): Promise<Chat[]> {
  return (await api.chats.list({ limit: CHATS_MAX }, { signal })).chats.filter(({ isGroup }) => isGroup);
}

/** The newest events that mark messages: reactions, edits and unsends. */
export function useMarks() {
  const api = useApi();
  return useQuery({
    queryKey: ["events", "marks"],
    queryFn: async ({ signal }): Promise<readonly Event[]> => {
      const pages = await Promise.all(MARKS.map((type) => api.events.list({ type, limit: MARKS_MAX }, { signal })));
      return pages.flatMap(({ events }) => events);
    },
  });
}

/** The newest payment requests. */
export function usePayments() {
  const api = useApi();
  return useQuery({
    queryKey: ["payments", "list"],
    queryFn: async ({ signal }) => (await api.payments.list({ limit: 100 }, { signal })).requests,
  });
}

/** The call with a contact that rings or goes on; null if there is none. */
export function useCallWith(number: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["calls", "with", number],
    queryFn: async ({ signal }): Promise<Call | null> => {
      const { calls } = await api.calls.list({ limit: 20 }, { signal });
      const last = calls.find(({ address }) => address === number);
      return last !== undefined && (last.status === "incoming" || last.status === "answered") ? last : null;
    },
  });
}

/** Groups, newest first. */
export function useGroups() {
  const api = useApi();
  return useQuery({
    queryKey: ["chats", "groups"],
    queryFn: ({ signal }) => readGroups(api, signal),
  });
}

/** Makes a group of contacts. */
export function useCreateGroup() {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (participants: readonly string[]) => api.chats.createGroup({ participants: [...participants] }),
    onSuccess: (group) => cache.setQueryData<Chat[]>(["chats", "groups"], (groups = []) => [group, ...groups]),
  });
}

/** One-to-one threads, newest first: the contacts that somebody has written with. */
export function useContacted() {
  const api = useApi();
  return useQuery({
    queryKey: ["chats", "contacted"],
    queryFn: async ({ signal }) =>
      (await api.chats.list({ limit: 50 }, { signal })).chats
        .filter(({ isGroup }) => !isGroup)
        .flatMap(({ participants }) => participants),
  });
}

/** How a phone behaves. */
export function usePhoneSettings(number: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["phones", "settings", number],
    queryFn: ({ signal }) => api.sandbox.phone(number).settings({ signal }),
  });
}

/** Sends the requests of one phone one after the other: two requests at once could arrive in the other order. */
const inTurn = (number: string) => ({ scope: { id: `phone ${number}` } });

/** Changes how a phone behaves. */
export function useChangePhone(number: string) {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    ...inTurn(number),
    mutationFn: (settings: Partial<PhoneSettings>) => api.sandbox.phone(number).change(settings),
    onSuccess: (settings) => cache.setQueryData(["phones", "settings", number], settings),
  });
}

/** The actions of a contact on a phone. */
export function usePhoneActs(number: string) {
  const api = useApi();
  const cache = useQueryClient();
  const phone = () => api.sandbox.phone(number);
  const refresh = () => void cache.invalidateQueries({ queryKey: ["messages", "thread"] });
  return {
    write: useMutation({
      ...inTurn(number),
      mutationFn: (message: PhoneMessage) => phone().write(message),
      onSuccess: refresh,
    }),
    react: useMutation({ ...inTurn(number), mutationFn: (reaction: PhoneReaction) => phone().react(reaction) }),
    pay: useMutation({
      ...inTurn(number),
      mutationFn: (payment: PhonePayment) => phone().pay(payment),
      onSuccess: refresh,
    }),
    call: useMutation({
      ...inTurn(number),
      mutationFn: (call: PhoneCall) => phone().call(call),
      onSuccess: () => void cache.invalidateQueries({ queryKey: ["calls"] }),
    }),
    type: useMutation({ ...inTurn(number), mutationFn: (typing: boolean) => phone().type({ typing }) }),
  };
}

/** The customer's contacts by their addresses: one copy for all screens, and a search of them. */

import { useQuery } from "@tanstack/react-query";
import type { Tightbeam } from "../../sdk/client.ts";
import type { Contact } from "../../sdk/wire.ts";
import { type Book, bookOf, contactAmong, mayHaveForms, nameOf } from "./contact-book.ts";
import { useApi } from "./context.ts";

const PAGE_SIZE = 100;
/** The newest contacts are read at once; a contact of a larger book is looked up as soon as its address is shown. */
const BOOK_MAX = 500;
/** Without the request log nothing tells that another program has changed a contact. */
const REFRESH_MS = 30_000;
const LOOKUP_MS = 300_000;
const FOUND_MAX = 5;

async function readBook(api: Tightbeam, signal: AbortSignal): Promise<Book> {
  const contacts: Contact[] = [];
  for (;;) {
    const page = await api.contacts.list({ limit: PAGE_SIZE, offset: contacts.length }, { signal });
    contacts.push(...page.contacts);
    const hasMore = page.pagination.hasMore && page.contacts.length > 0;
    if (!hasMore || contacts.length >= BOOK_MAX) return bookOf({ contacts, isWhole: !hasMore });
  }
}

function useBook(): Book | undefined {
  const api = useApi();
  return useQuery({
    queryKey: ["contacts", "book"],
    queryFn: ({ signal }) => readBook(api, signal),
    structuralSharing: false,
    refetchInterval: REFRESH_MS,
    // Every row asks for the book: one that was refused is not asked for by each of them.
    retryOnMount: false,
  }).data;
}

/** The contact with an address; null if there is none, or until the contact is known. */
export function useContactOf(address: string): Contact | null {
  const api = useApi();
  const book = useBook();
  const known = book?.byAddress.get(address) ?? null;
  const found = useQuery({
    queryKey: ["contacts", "of", address],
    queryFn: async ({ signal }): Promise<Contact | null> => {
      const { contacts } = await api.contacts.list({ search: address, limit: PAGE_SIZE }, { signal });
      return contactAmong(contacts, address);
    },
    enabled: book !== undefined && (!book.isWhole || mayHaveForms(address)) && known === null,
    staleTime: LOOKUP_MS,
    retryOnMount: false,
  });
  return known ?? found.data ?? null;
}

/** Tells the names of the newest contacts by an address; null without a name. */
export function useNames(): (address: string) => string | null {
  const book = useBook();
  return (address) => {
    const contact = book?.byAddress.get(address);
    return contact === undefined ? null : nameOf(contact);
  };
}

/** The first contacts whose name, company or address contains a text; none for no text. */
export function useContactSearch(text: string): readonly Contact[] {
  const api = useApi();
  const book = useBook();
  const found = useQuery({
    queryKey: ["contacts", "search", text],
    queryFn: async ({ signal }) => (await api.contacts.list({ search: text, limit: FOUND_MAX }, { signal })).contacts,
    enabled: text !== "" && book !== undefined && !book.isWhole,
  });
  const contacts = [...(book?.search(text) ?? []), ...(found.data ?? [])];
  return [...new Map(contacts.map((contact) => [contact.id, contact])).values()].slice(0, FOUND_MAX);
}

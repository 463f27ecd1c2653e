/** Reads every record of a customer after the run has ended. */

import type { AnyEvent, Contact, Delivery, Message, PaymentRequest, Webhook } from "../../sdk/wire.ts";
import type { Clients, Customer } from "./client.ts";

/** All records of one customer, oldest first. */
export interface Rest {
  messages: Message[];
  events: AnyEvent[];
  deliveries: Delivery[];
  endpoints: Webhook[];
  payments: PaymentRequest[];
  contacts: Contact[];
}

/** The records of a customer who has none. */
export const NOTHING: Rest = { messages: [], events: [], deliveries: [], endpoints: [], payments: [], contacts: [] };

/** Lets time pass until the work is done. */
type Until = <Value>(work: Promise<Value>, what: string) => Promise<Value>;

export async function readRest(clients: Clients, customer: Customer, until: Until): Promise<Rest> {
  const ask = async <Data>(path: string): Promise<Data> => {
    const call = await until(clients.call(customer, "GET", path), path);
    return call.answer?.data as Data;
  };
  const all = async <Item>(path: string, field: string): Promise<Item[]> => {
    const items: Item[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: string = `limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const data: Record<string, unknown> & { pagination: { nextCursor: string | null } } = await ask(
        `${path}?${query}`,
      );
      items.push(...(data[field] as Item[]));
      cursor = data.pagination.nextCursor;
    }
    return items.reverse();
  };
  return {
    messages: await all<Message>("/v1/messages", "messages"),
    events: await all<AnyEvent>("/v1/events", "events"),
    deliveries: await all<Delivery>("/v1/webhooks/deliveries", "deliveries"),
    endpoints: await ask<Webhook[]>("/v1/webhooks/list"),
    payments: await all<PaymentRequest>("/v1/payments/requests", "requests"),
    contacts: (await ask<{ contacts: Contact[] }>("/v1/contacts?limit=100")).contacts,
  };
}

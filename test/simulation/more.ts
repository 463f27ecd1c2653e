/** Acts of customers besides sending: request payments, edit, unsend, react, create contacts, act as a sandbox contact. */

import type { PaymentRequest } from "../../sdk/wire.ts";
import type { Chance } from "./chance.ts";
import type { Clients, Customer } from "./client.ts";
import { AMOUNTS_CENTS } from "./people.ts";

/** How a customer chooses an act, and one of its messages to act on. */
interface Choosing {
  chance: Chance;
  isSandbox: boolean;
  message: string | null;
}

/** Performs one of these acts. Resolves when the call was answered or cut off. */
export async function doMore(
  clients: Clients,
  customer: Customer,
  { chance, isSandbox, message }: Choosing,
): Promise<void> {
  const act = chance.weighted({
    ask: 8,
    cancel: 2,
    edit: 8,
    unsend: 4,
    react: 3,
    contact: 4,
    chat: 2,
    phone: isSandbox ? 8 : 0,
  });
  const number = clients.calls.length;
  const phone = chance.pick(clients.phones);
  switch (act) {
    case "ask":
      return await askForPayment(clients, customer, chance);
    case "cancel":
      return await cancelPayment(clients, customer, chance);
    case "contact": {
      const address = phone.includes("@") ? { email: phone } : { phoneNumber: phone };
      await clients.call(customer, "POST", "/v1/contacts", { ...address, firstName: `Contact ${number}` });
      return;
    }
    case "chat": {
      const [path, body] = chance.pick([
        ["typing", { status: "start" }],
        ["read", {}],
      ] as const);
      await clients.call(customer, "POST", `/v1/chats/${phone}/${path}`, body);
      return;
    }
    case "phone":
      return await playContact(clients, customer, { chance, phone, number });
    default:
      if (message !== null) await revise(clients, customer, { chance, act, path: `/v1/messages/${message}`, number });
  }
}

async function revise(
  clients: Clients,
  customer: Customer,
  { chance, act, path, number }: { chance: Chance; act: "edit" | "unsend" | "react"; path: string; number: number },
): Promise<void> {
  if (act === "edit") await clients.call(customer, "PUT", path, { text: `Edited in call ${number}` });
  else if (act === "react") await clients.call(customer, "POST", `${path}/reactions`, { type: "love" });
  else await clients.call(customer, "POST", `${path}/unsend`, {}, chance.flip(0.3) ? `unsend ${path}` : null);
}

async function askForPayment(clients: Clients, customer: Customer, chance: Chance): Promise<void> {
  const number = clients.calls.length;
  const body = {
    to: chance.pick(clients.phones),
    amount: chance.pick(AMOUNTS_CENTS) / 100,
    metadata: { number },
    ...(chance.flip(0.3) ? { from: chance.pick(customer.numbers) } : {}),
    ...(chance.flip(0.7) ? { expiresInSeconds: chance.pick([5, 60, 3_600]) } : {}),
  };
  const key = chance.flip(0.7) ? `payment ${number}` : null;
  await clients.call(customer, "POST", "/v1/payments/request", body, key);
  if (key !== null && chance.flip(0.3)) await clients.call(customer, "POST", "/v1/payments/request", body, key);
}

async function cancelPayment(clients: Clients, customer: Customer, chance: Chance): Promise<void> {
  const asked = clients.calls.flatMap(({ path, customer: by, status, answer }) =>
    path === "/v1/payments/request" && by === customer.name && status === 202 ? [answer?.data as PaymentRequest] : [],
  );
  if (asked.length === 0) return;
  await clients.call(customer, "POST", `/v1/payments/requests/${chance.pick(asked).id}/cancel`);
}

/** Acts as a contact through the sandbox routes. */
async function playContact(
  clients: Clients,
  customer: Customer,
  { chance, phone, number }: { chance: Chance; phone: string; number: number },
): Promise<void> {
  const path = `/v1/sandbox/phones/${phone}`;
  const key = chance.flip(0.5) ? `phone ${number}` : null;
  const [what, body] = chance.pick([
    ["messages", { text: `Written in call ${number}` }],
    ["messages", { text: `Written in call ${number}` }],
    ["payments", { amount: chance.pick(AMOUNTS_CENTS) / 100 }],
    ["typing", { typing: chance.flip(0.5) }],
  ] as const);
  await clients.call(customer, "POST", `${path}/${what}`, body, key);
  if (key !== null && chance.flip(0.4)) await clients.call(customer, "POST", `${path}/${what}`, body, key);
}

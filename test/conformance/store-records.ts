/** Whole records of the tables that hang on a customer and its messages: every column filled, and every column empty that may be. */

import type { CustomerId, InstanceId, MessageId, NewId } from "../../server/core/id.ts";
import type { Records } from "../../server/store/records.ts";

type Beside =
  | "chats"
  | "contacts"
  | "contactAddresses"
  | "payments"
  | "calls"
  | "contents"
  | "arrivals"
  | "optOuts"
  | "replays";

interface Owner {
  newId: NewId;
  customerId: CustomerId;
  messageId: MessageId;
  instanceId: InstanceId;
  now: number;
}

/** Two records of each of these tables. */
export function recordsBeside(owner: Owner): { [Name in Beside]: Records[Name][] } {
  return { ...people(owner), ...dealings(owner), ...keepings(owner), replays: replays(owner) };
}

function people({
  newId,
  customerId,
  instanceId,
  now,
}: Owner): Pick<{ [Name in Beside]: Records[Name][] }, "chats" | "contacts" | "contactAddresses" | "optOuts"> {
  const common = { version: 1, customerId, createdAt: now, updatedAt: now + 1 } as const;
  const chat = { ...common, from: "+15550000001", instanceId, channel: "imessage" } as const;
  const names = { firstName: "Ada", lastName: "L", phoneNumber: "+15005550100", email: "a@b.example", company: "Ä" };
  const noNames = { firstName: null, lastName: null, phoneNumber: null, email: null, company: null };
  const contactId = newId("con");
  const optOut = { customerId, number: "+15550000001", createdAt: now } as const;
  return {
    chats: [
      {
        ...chat,
        id: newId("chat"),
        key: "a",
        isGroup: true,
        contact: null,
        lastForm: null,
        reference: "g",
        name: "G",
        participants: ["x", "y"],
        leftAt: now,
      },
      {
        ...chat,
        id: newId("chat"),
        key: "b",
        isGroup: false,
        contact: "x",
        lastForm: "y",
        reference: null,
        name: null,
        participants: [],
        leftAt: null,
      },
    ],
    contacts: [
      { ...common, ...names, id: contactId, tags: ["a"], metadata: { a: [1] }, searchText: "ada" },
      { ...common, ...noNames, id: newId("con"), tags: [], metadata: null, searchText: "" },
    ],
    contactAddresses: ["+15005550100", "a@b.example"].map((address) => ({ customerId, address, contactId })),
    optOuts: [
      { ...optOut, contact: "+15005550100", scope: "customer", source: "keyword", keyword: "STOP" },
      { ...optOut, contact: "+15005550101", scope: "number", source: "api", keyword: null },
    ],
  };
}

function dealings({
  newId,
  customerId,
  messageId,
  instanceId,
  now,
}: Owner): Pick<{ [Name in Beside]: Records[Name][] }, "payments" | "calls"> {
  const common = { version: 1, customerId, from: "+15550000001", to: "+15005550112", createdAt: now, updatedAt: now };
  const payment = {
    ...common,
    keyId: newId("key"),
    messageId,
    amountCents: 2_500,
    currency: "USD",
    correlationId: "cor_1",
    expiresAt: now + 9,
  } as const;
  const none = {
    note: null,
    metadata: null,
    callbackUrl: null,
    paidBy: null,
    reason: null,
    paidAt: null,
    cancelledAt: null,
  };
  const call = {
    ...common,
    instanceId,
    caller: "+15005550114",
    isAudio: true,
    isVideo: false,
    isOutgoing: false,
  } as const;
  return {
    payments: [
      {
        ...payment,
        id: newId("pay"),
        status: "paid",
        note: "Lunch",
        metadata: { a: 1 },
        callbackUrl: "https://a.example/",
        paidBy: { messageId, evidence: "apple_cash" },
        reason: "why",
        dueAt: now,
        paidAt: now,
        cancelledAt: now,
      },
      { ...payment, ...none, id: newId("pay"), status: "pending", dueAt: null },
    ],
    calls: [
      { ...call, id: newId("call"), callUuid: "a", status: "missed", history: [{ status: "incoming", at: now }] },
      { ...call, id: newId("call"), callUuid: "b", status: "incoming", history: [], isVideo: true, isOutgoing: true },
    ],
  };
}

function keepings({
  newId,
  customerId,
  messageId,
  instanceId,
  now,
}: Owner): Pick<{ [Name in Beside]: Records[Name][] }, "contents" | "arrivals"> {
  const content = { customerId, messageId, mimeType: "image/png", createdAt: now } as const;
  const data = Uint8Array.from({ length: 256 }, (_, index) => index);
  return {
    contents: [
      { ...content, id: newId("att"), filename: "a.png", totalBytes: 256, data, instanceId: null, reference: null },
      { ...content, id: newId("att"), filename: null, totalBytes: null, data: null, instanceId, reference: "r" },
    ],
    arrivals: ["a", "b"].map((reference) => ({ instanceId, reference, createdAt: now })),
  };
}

function replays({ newId, customerId, now }: Owner): Records["replays"][] {
  const common = { version: 1, customerId, since: now - 1, position: 1, eventsUntil: 2, made: 3, startedAt: now };
  return [
    {
      ...{ ...common, id: newId("rpl"), endpointId: newId("wh") },
      ...{ status: "done", until: now, types: ["message.sent"], onlyFailed: true, deliveries: 3, endedAt: now },
    },
    {
      ...{ ...common, id: newId("rpl"), endpointId: newId("wh") },
      ...{ status: "running", until: null, types: null, onlyFailed: false, deliveries: null, endedAt: null },
    },
  ];
}

/** The nouns that are plain lists: columns, fields and the call that fills an empty one. */

import type { Call, Contact, OptOut, OwnNumber, PaymentRequest } from "../../../sdk/wire.ts";
import { nameOf } from "../../api/contact-book.ts";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { ContactName } from "../../parts/contact-name.tsx";
import { capitalized } from "../../parts/formats.ts";
import { RecordLink } from "../../parts/record-link.tsx";
import { Time } from "../../parts/time.tsx";
import { Address, ageColumn, Instant, statusColumn, Text, Words } from "./cells.tsx";
import { idField, type RecordList } from "./record-table.tsx";

const PAGE_SIZE = 100;
/** Health changes without an event. */
const REFRESH_MS = 15_000;

export const NUMBERS: RecordList<OwnNumber> = {
  noun: "numbers",
  refreshMs: REFRESH_MS,
  label: "Numbers",
  read: async (api, _cursor, options) => ({ rows: await api.numbers(options), next: null }),
  rowId: ({ phoneNumber, email }) => phoneNumber ?? email ?? "",
  titleOf: ({ phoneNumber, email }) => phoneNumber ?? email ?? "Number",
  columns: [
    {
      id: "health",
      header: "Health",
      width: "112px",
      cell: ({ healthStatus }) => <StatusBadge status={healthStatus} />,
    },
    {
      id: "address",
      header: "Number",
      width: "minmax(0, 1fr)",
      cell: ({ phoneNumber, email }) => <Address>{phoneNumber ?? email}</Address>,
    },
    {
      id: "instance",
      header: "Instance",
      width: "minmax(0, 1fr)",
      from: 480,
      cell: ({ instanceName }) => instanceName,
    },
    {
      id: "default",
      header: "Default",
      isQuiet: true,
      width: "72px",
      align: "right",
      cell: ({ isDefault }) => isDefault && <Badge>default</Badge>,
    },
  ],
  fieldsOf: ({ instanceName, isDefault, healthStatus }) => [
    ["Health", <StatusBadge key="health" status={healthStatus} />],
    ["Instance", instanceName],
    ["Default", isDefault ? "Yes: used when a request has no “from”" : "No"],
  ],
  empty: {
    icon: "phone",
    title: "No numbers yet",
    text: "An administrator gives numbers to a customer: tightbeam customers add-number.",
  },
};

export const CONTACTS: RecordList<Contact> = {
  noun: "contacts",
  label: "Contacts",
  read: async (api, cursor, options) => {
    const query = { limit: PAGE_SIZE, offset: Number(cursor ?? 0) };
    const { contacts, pagination } = await api.contacts.list(query, options);
    return { rows: contacts, next: pagination.hasMore ? String(query.offset + contacts.length) : null };
  },
  rowId: ({ id }) => id,
  titleOf: (contact) => nameOf(contact) ?? contact.phoneNumber ?? contact.email ?? "Contact",
  columns: [
    { id: "name", header: "Name", width: "minmax(0, 1fr)", cell: (contact) => <Text>{nameOf(contact)}</Text> },
    {
      id: "address",
      header: "Address",
      width: "minmax(0, 1fr)",
      cell: ({ phoneNumber, email }) => <Address>{phoneNumber ?? email}</Address>,
    },
    { id: "tags", header: "Tags", width: "minmax(0, 1fr)", from: 640, cell: ({ tags }) => <Words words={tags} /> },
    ageColumn(),
  ],
  fieldsOf: ({ id, phoneNumber, email, company, tags, lastContactedAt, createdAt }) => [
    idField(id),
    ["Phone", phoneNumber],
    ["E-mail", email],
    ["Company", company],
    ["Tags", tags.length === 0 ? null : <Words key="tags" words={tags} />],
    ["Last contacted", <Instant key="contacted" at={lastContactedAt} />],
    ["Created", <Time key="created" at={createdAt} />],
  ],
  empty: {
    icon: "person",
    title: "No contacts yet",
    text: "Names and tags of the people you write to.",
    verb: "Create Ada",
    call: {
      method: "POST",
      path: "/v1/contacts",
      body: { firstName: "Ada", phoneNumber: "+15005550100" },
      typescript: 'tightbeam.contacts.create({ firstName: "Ada", phoneNumber: "+15005550100" })',
      cli: "contacts create --phone +15005550100 --first-name Ada",
    },
  },
};

const HOW: Readonly<Record<OptOut["source"], (keyword: string | null) => string>> = {
  keyword: (keyword) => `The contact wrote ${keyword ?? "a keyword"}`,
  provider: (keyword) => (keyword === null ? "Reported by the provider" : `Reported by the provider: ${keyword}`),
  api: () => "Added by the API",
};

export const OPT_OUTS: RecordList<OptOut> = {
  noun: "opt-outs",
  label: "Opt-outs",
  read: async (api, cursor, options) => {
    const { optOuts, pagination } = await api.optOuts.list({ limit: PAGE_SIZE, cursor }, options);
    return { rows: optOuts, next: pagination.nextCursor };
  },
  rowId: ({ number, contact }) => `${number}/${contact}`,
  titleOf: ({ contact }) => <ContactName address={contact} isWhole />,
  columns: [
    {
      id: "contact",
      header: "Contact",
      width: "minmax(0, 1fr)",
      cell: ({ contact }) => <ContactName address={contact} />,
    },
    {
      id: "number",
      header: "From your number",
      width: "minmax(0, 1fr)",
      from: 420,
      cell: ({ number, scope }) => (scope === "customer" ? "all your numbers" : <Address>{number}</Address>),
    },
    {
      id: "how",
      header: "How",
      width: "88px",
      cell: ({ source, keyword }) => <Badge>{keyword ?? (source === "api" ? "by the API" : "by the provider")}</Badge>,
    },
    ageColumn(),
  ],
  fieldsOf: ({ number, contact, scope, source, keyword, createdAt }) => [
    ["Contact", <ContactName key="contact" address={contact} isWhole />],
    ["Your number", number],
    ["Holds for", scope === "customer" ? "all your numbers, also future ones" : "this number"],
    ["How", HOW[source](keyword)],
    ["Since", <Time key="since" at={createdAt} />],
  ],
  empty: {
    icon: "stop",
    title: "Nobody has opted out",
    text: "Who answers STOP gets no more messages from that number.",
    verb: "Answer STOP as a contact",
    inSandbox: true,
    call: {
      method: "POST",
      path: "/v1/sandbox/phones/+15005550100/messages",
      body: { text: "STOP" },
      typescript: 'tightbeam.sandbox.phone("+15005550100").write({ text: "STOP" })',
      cli: "sandbox phone +15005550100 say STOP",
    },
  },
};

export const PAYMENTS: RecordList<PaymentRequest> = {
  noun: "payments",
  label: "Payment requests",
  read: async (api, cursor, options) => {
    const { requests, pagination } = await api.payments.list({ limit: PAGE_SIZE, cursor }, options);
    return { rows: requests, next: pagination.nextCursor };
  },
  rowId: ({ id }) => id,
  titleOf: ({ amount, to }) => (
    <>
      ${amount} from <ContactName address={to} />
    </>
  ),
  columns: [
    statusColumn(),
    {
      id: "amount",
      header: "Amount",
      width: "64px",
      cell: ({ amount }) => <span className="tabular-nums">${amount}</span>,
    },
    { id: "to", header: "Who pays", width: "minmax(0, 1fr)", cell: ({ to }) => <ContactName address={to} /> },
    { id: "note", header: "Note", width: "minmax(0, 1fr)", from: 640, cell: ({ note }) => <Text>{note}</Text> },
    ageColumn(),
  ],
  fieldsOf: ({ id, messageId, status, to, from, note, paidBy, reason, expiresAt, createdAt }) => [
    idField(id),
    ["Status", <StatusBadge key="status" status={status} />],
    ["Who pays", <ContactName key="to" address={to} isWhole />],
    ["Your number", from],
    ["Note", note],
    ["Asked by", <RecordLink key="message" id={messageId} />],
    ["Paid by", paidBy === null ? null : <RecordLink key="paid" id={paidBy.messageId} />],
    ["Reason", reason],
    ["Expires", status === "pending" ? <Time key="expires" at={expiresAt} /> : null],
    ["Created", <Time key="created" at={createdAt} />],
  ],
  empty: {
    icon: "send",
    title: "No payment requests yet",
    text: "Ask a contact for money; an event says when it is paid.",
    verb: "Ask for $25.00",
    inSandbox: true,
    call: {
      method: "POST",
      path: "/v1/payments/request",
      body: { to: "+15005550112", amount: "25.00", note: "Lunch" },
      typescript: 'tightbeam.payments.request({ to: "+15005550112", amount: "25.00", note: "Lunch" })',
      cli: "payments request +15005550112 25.00 --note Lunch",
    },
  },
};

export const CALLS: RecordList<Call> = {
  noun: "calls",
  label: "FaceTime calls",
  read: async (api, cursor, options) => {
    const { calls, pagination } = await api.calls.list({ limit: PAGE_SIZE, cursor }, options);
    return { rows: calls, next: pagination.nextCursor };
  },
  rowId: ({ id }) => id,
  titleOf: ({ address }) => (
    <>
      FaceTime with <ContactName address={address} />
    </>
  ),
  columns: [
    { id: "status", header: "Status", width: "112px", cell: ({ status }) => <Badge>{status}</Badge> },
    {
      id: "address",
      header: "Contact",
      width: "minmax(0, 1fr)",
      cell: ({ address }) => <ContactName address={address} />,
    },
    {
      id: "direction",
      header: "Kind",
      width: "minmax(0, 1fr)",
      from: 520,
      cell: ({ isOutgoing, isVideo }) => `${isOutgoing ? "Outgoing" : "Incoming"} ${isVideo ? "video" : "audio"}`,
    },
    ageColumn(),
  ],
  fieldsOf: ({ id, address, to, history }) => [
    idField(id),
    ["Contact", <ContactName key="contact" address={address} isWhole />],
    ["Your number", to],
    ...history.map(({ status, at }) => [capitalized(status), <Time key={status} at={at} />] as const),
  ],
  empty: {
    icon: "video",
    title: "No calls yet",
    text: "FaceTime calls to your numbers are detected, and end as answered, missed or rejected.",
    verb: "Ring as a contact",
    inSandbox: true,
    call: {
      method: "POST",
      path: "/v1/sandbox/phones/+15005550100/calls",
      body: { action: "ring", video: true },
      typescript: 'tightbeam.sandbox.phone("+15005550100").call({ action: "ring", video: true })',
    },
  },
};

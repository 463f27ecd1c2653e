/** Ids, addresses and instants that the examples have in common, so that one example leads to the next. */

const uuid = (last: number) => `0199c2f4-8a00-7000-8000-${String(last).padStart(12, "0")}`;

export const IDS = {
  message: `msg_${uuid(1)}`,
  reply: `msg_${uuid(2)}`,
  event: `evt_${uuid(3)}`,
  request: `req_${uuid(4)}`,
  payment: `pay_${uuid(5)}`,
  replay: "rpl_0191e4a2-9c3b-7d10-8a55-3f0c6be1d2f4",
  webhook: `wh_${uuid(6)}`,
  delivery: `dlv_${uuid(7)}`,
  key: `key_${uuid(8)}`,
  customer: `cust_${uuid(9)}`,
  number: `num_${uuid(10)}`,
  chat: `chat_${uuid(11)}`,
  group: `chat_${uuid(12)}`,
  contact: `con_${uuid(13)}`,
  call: `call_${uuid(14)}`,
  instance: `inst_${uuid(15)}`,
  attachment: `att_${uuid(16)}`,
  session: `ses_${uuid(17)}`,
} as const;

/** The customer's own number. */
export const OWN = "+15005550006";
/** A contact's number, and another's: phones of the sandbox. */
export const CONTACT = "+15005550101";
export const OTHER_CONTACT = "+15005550110";

export const CORRELATION_ID = "cor_0123456789abcdef0123456789abcdef";
export const CURSOR = "Im1zZ18wMTk5YzJmNC04YTAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDEi";

/** An instant so many seconds into the story that the examples tell. */
export function at(seconds: number): string {
  return new Date(Date.UTC(2026, 2, 1, 12) + seconds * 1_000).toISOString();
}

export const LAST_PAGE = { hasMore: false, nextCursor: null };

/** Messages of the small Twilio: how recipients behave, what it keeps, and how it shows and tells of it. Pure. */

const ROOT = "/2010-04-01/Accounts";

/** A status that a message gets, with the code it failed with. */
export type Step = string | { status: string; errorCode: number };

/** How a recipient behaves. */
export interface Behaviour {
  /** What becomes of a message that was taken, in order: `sent` and `delivered` unless given. */
  statuses?: readonly Step[];
  /** False: Twilio knows, and does not call. `atOnce`: all calls go out together. */
  callbacks?: boolean | "atOnce";
  /** Waits so long before each status, in milliseconds. */
  stepMs?: number;
  /** Refuses, `times` times where that is given; a string is answered as it stands. */
  refuse?: { status: number; body: { code: number; message: string } | string; headers?: object; times?: number };
  /** What becomes of the answer: `lost` cuts the connection, `never` keeps it open. */
  answer?: "lost" | "never" | "error" | "nameless" | "garbage";
  /** False, with `answer`: it was not taken either. */
  takes?: boolean;
  /** Waits so long before it takes a message, in milliseconds. */
  slowMs?: number;
}

/** A file of a message: where its bytes are, and its type. */
export interface FakeFile {
  url: string;
  type: string;
}

/** A message as this Twilio keeps it. */
export interface FakeMessage {
  sid: string;
  from: string;
  to: string;
  body: string;
  media: string[];
  /** Of an inbound message. */
  files: readonly FakeFile[];
  status: string;
  errorCode: number | null;
  direction: "outbound-api" | "inbound";
  statusCallback: string | null;
  messagingServiceSid: string | null;
  createdAt: number;
  isDeleted: boolean;
}

/** A call to us, and what we answered; null while there was no answer. */
export interface Called {
  url: string;
  parameters: Record<string, string>;
  status: number | null;
  type: string | null;
  body: string;
}

/** A message as the API shows it. */
export function resourceOf(message: FakeMessage, accountSid: string): object {
  const { sid, from, to, body, media, files, status, errorCode, direction, messagingServiceSid, createdAt } = message;
  return {
    sid,
    account_sid: accountSid,
    messaging_service_sid: messagingServiceSid,
    api_version: "2010-04-01",
    body,
    from,
    to,
    direction,
    status,
    num_segments: String(Math.ceil(body.length / 160)),
    num_media: String(media.length + files.length),
    price: null,
    price_unit: "USD",
    error_code: errorCode,
    error_message: errorCode === null ? null : `error ${errorCode}`,
    date_created: dateOf(createdAt),
    date_sent: direction === "inbound" ? dateOf(createdAt) : null,
    date_updated: dateOf(createdAt),
    uri: `${ROOT}/${accountSid}/Messages/${sid}.json`,
    subresource_uris: { media: mediaPathOf(message, accountSid) },
  };
}

/** The path of the list of a message's files. */
export function mediaPathOf({ sid }: FakeMessage, accountSid: string): string {
  return `${ROOT}/${accountSid}/Messages/${sid}/Media.json`;
}

/** The list of a message's files as the API shows it. */
export function mediaOf({ sid, files, createdAt }: FakeMessage, accountSid: string): object {
  const list = files.map(({ url, type }) => {
    const { pathname } = new URL(url);
    return {
      sid: pathname.split("/").at(-1),
      account_sid: accountSid,
      parent_sid: sid,
      content_type: type,
      date_created: dateOf(createdAt),
      date_updated: dateOf(createdAt),
      uri: `${pathname}.json`,
    };
  });
  return { media_list: list, page: 0, page_size: 50, next_page_uri: null };
}

/** Whether a message is one of those that a list is asked for: `To`, `From`, and the day it was sent, in Greenwich. */
export function isAskedFor(message: FakeMessage, query: URLSearchParams): boolean {
  const { isDeleted, from, to, direction, createdAt } = message;
  const [wantedTo, wantedFrom] = [query.get("To"), query.get("From")];
  if (isDeleted || (wantedTo !== null && wantedTo !== to) || (wantedFrom !== null && wantedFrom !== from)) return false;
  const [on = null, since = null, until = null] = ["DateSent", "DateSent>", "DateSent<"].map(
    (name) => query.get(name)?.slice(0, 10) ?? null,
  );
  if (on === null && since === null && until === null) return true;
  // One that has not been sent yet has no such date.
  const day = direction === "inbound" ? new Date(createdAt).toISOString().slice(0, 10) : null;
  return day !== null && (on === null || day === on) && day >= (since ?? day) && day <= (until ?? day);
}

function dateOf(at: number): string {
  return new Date(at).toUTCString().replace("GMT", "+0000");
}

/** The parameters of a status callback. */
export function callbackOf(message: FakeMessage, accountSid: string): Record<string, string> {
  const { sid, status, errorCode, from, to, messagingServiceSid } = message;
  return {
    ...(errorCode === null ? {} : { ErrorCode: String(errorCode), ErrorMessage: `error ${errorCode}` }),
    ...(status === "delivered" ? { RawDlrDoneDate: "2601011200" } : {}),
    ...(messagingServiceSid === null ? {} : { MessagingServiceSid: messagingServiceSid }),
    SmsSid: sid,
    SmsStatus: status,
    MessageStatus: status,
    To: to,
    MessageSid: sid,
    AccountSid: accountSid,
    From: from,
    ApiVersion: "2010-04-01",
  };
}

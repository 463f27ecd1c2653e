/** Messages of the small Twilio: recipients' behaviours, its records, and its representations of them. Pure. */

const ROOT = "/2010-04-01/Accounts";

/** A status of a message, with its error code if it failed. */
export type Step = string | { status: string; errorCode: number };

/** The behaviour of a recipient. */
export interface Behaviour {
  /** The statuses of an accepted message, in order: `sent` and `delivered` by default. */
  statuses?: readonly Step[];
  /** False: Twilio sends no callbacks. `atOnce`: all callbacks go out together. */
  callbacks?: boolean | "atOnce";
  /** The wait before each status, in milliseconds. */
  stepMs?: number;
  /** Refuses, `times` times if given; a string is sent as the body as it is. */
  refuse?: { status: number; body: { code: number; message: string } | string; headers?: object; times?: number };
  /** The fate of the response: `lost` breaks the connection, `never` keeps it open. */
  answer?: "lost" | "never" | "error" | "nameless" | "garbage";
  /** False, with `answer`: the message was not accepted either. */
  takes?: boolean;
  /** The wait before a message is accepted, in milliseconds. */
  slowMs?: number;
}

/** A file of a message: the address of its bytes, and its type. */
export interface FakeFile {
  url: string;
  type: string;
}

/** A message as the small Twilio stores it. */
export interface FakeMessage {
  sid: string;
  from: string;
  to: string;
  body: string;
  media: string[];
  /** The files of an inbound message. */
  files: readonly FakeFile[];
  status: string;
  errorCode: number | null;
  direction: "outbound-api" | "inbound";
  statusCallback: string | null;
  messagingServiceSid: string | null;
  createdAt: number;
  isDeleted: boolean;
}

/** A request to our hook, with our response; null while there is none. */
export interface Called {
  url: string;
  parameters: Record<string, string>;
  status: number | null;
  type: string | null;
  body: string;
}

/** A message in the API. */
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

/** The list of a message's files in the API. */
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

/** Whether a message is in a list with the filters `To`, `From`, and the UTC day it was sent. */
export function isAskedFor(message: FakeMessage, query: URLSearchParams): boolean {
  const { isDeleted, from, to, direction, createdAt } = message;
  const [wantedTo, wantedFrom] = [query.get("To"), query.get("From")];
  if (isDeleted || (wantedTo !== null && wantedTo !== to) || (wantedFrom !== null && wantedFrom !== from)) return false;
  const [on = null, since = null, until = null] = ["DateSent", "DateSent>", "DateSent<"].map(
    (name) => query.get(name)?.slice(0, 10) ?? null,
  );
  if (on === null && since === null && until === null) return true;
  // A message that was not sent yet has no such date.
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

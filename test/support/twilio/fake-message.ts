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

/** A message as this Twilio keeps it. */
export interface FakeMessage {
  sid: string;
  from: string;
  to: string;
  body: string;
  media: string[];
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
  const { sid, from, to, body, media, status, errorCode, direction, messagingServiceSid, createdAt } = message;
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
    num_media: String(media.length),
    price: null,
    price_unit: "USD",
    error_code: errorCode,
    error_message: errorCode === null ? null : `error ${errorCode}`,
    date_created: new Date(createdAt).toUTCString().replace("GMT", "+0000"),
    date_sent: null,
    date_updated: new Date(createdAt).toUTCString().replace("GMT", "+0000"),
    uri: `${ROOT}/${accountSid}/Messages/${sid}.json`,
    subresource_uris: {},
  };
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

/** What the API answers, read loosely: fields may be missing, null, or more than are known here. Pure. */

/** A message as the API shows it. */
export interface MessageRecord {
  sid: string;
  /** One of the thirteen statuses, or a word that is not known here. */
  status: string;
  errorCode: number | null;
  errorMessage: string | null;
  /** Null while the API does not know it yet. */
  segments: number | null;
  body: string;
  from: string | null;
  to: string | null;
  isOutbound: boolean;
  /** Epoch milliseconds by the API's clock, in whole seconds; null where it does not say. */
  createdAt: number | null;
}

export interface MessagePage {
  messages: MessageRecord[];
  /** The next page's path; null on the last one. */
  next: string | null;
}

/** What the API refused a request for. */
export interface ApiRefusal {
  code: number;
  message: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The message in an answer's body; null when there is none. */
export function readMessage(body: Buffer): MessageRecord | null {
  return messageOf(fieldsOf(body));
}

/** A page of messages; null when the body is none. */
export function readPage(body: Buffer): MessagePage | null {
  const page = fieldsOf(body);
  if (page === null || !Array.isArray(page.messages)) return null;
  const messages = page.messages.map((one: unknown) => messageOf(isFields(one) ? one : null));
  // One that cannot be read could be any message: such a page proves nothing.
  if (!messages.every((one) => one !== null)) return null;
  const next = textOf(page.next_page_uri);
  return next?.startsWith("/") === false ? null : { messages, next };
}

/** The refusal in an answer's body; null when its words are not the API's. */
export function readRefusal(body: Buffer): ApiRefusal | null {
  const fields = fieldsOf(body);
  const code = numberOf(fields?.code);
  return code === null ? null : { code, message: textOf(fields?.message) ?? "" };
}

/** The status of an account (`active`, `suspended`, `closed`); null when the body is no account. */
export function readAccountStatus(body: Buffer): string | null {
  return textOf(fieldsOf(body)?.status);
}

function messageOf(fields: Fields | null): MessageRecord | null {
  const sid = textOf(fields?.sid);
  if (fields === null || sid === null) return null;
  const segments = numberOf(fields.num_segments);
  const createdAt = Date.parse(textOf(fields.date_created) ?? "");
  return {
    sid,
    status: textOf(fields.status) ?? "",
    errorCode: numberOf(fields.error_code),
    errorMessage: textOf(fields.error_message),
    segments: segments === null || segments < 1 ? null : segments,
    body: textOf(fields.body) ?? "",
    from: textOf(fields.from),
    to: textOf(fields.to),
    isOutbound: textOf(fields.direction)?.startsWith("inbound") !== true,
    createdAt: Number.isNaN(createdAt) ? null : createdAt,
  };
}

function fieldsOf(body: Buffer): Fields | null {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A whole number, also as text: `num_segments` is one. */
function numberOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : null;
  return typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : null;
}

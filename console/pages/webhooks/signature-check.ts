/** Finds which part of a webhook's signature is wrong: the timestamp, the signed content, or the key. Pure, but for Web Crypto. */

import { verifyWebhook, type WebhookRefusal, WebhookVerificationError } from "../../../sdk/signature.ts";

/** A request as it was pasted. */
export interface PastedWebhook {
  headers: Readonly<Record<string, string>>;
  body: string;
  secret: string;
  /** The present time in milliseconds. */
  now: number;
  /** The time at which the receiver got it, in milliseconds: it is judged as of then. Null if that is not known. */
  receivedAt: number | null;
  /** The body that the service sent with this event's id; null if it is not known. */
  sentBody: string | null;
  toleranceSeconds?: number;
}

/** A part of a signature: `unknown` if it cannot be told apart from the others. */
export interface SignaturePart {
  state: "right" | "wrong" | "unknown";
  /** A sentence: what is wrong with it, and what to do. */
  says: string;
}

/** The result of a check. */
export interface SignatureCheck {
  /** Null if a receiver has to accept the request at the time of its receipt; that of now if the time is not known. */
  refusal: WebhookRefusal | null;
  /** A sentence about it: that of the service for a refusal. */
  says: string;
  /** `aged`: nothing but its age is against it, and nobody knows how old it was when it came. */
  verdict: "genuine" | "aged" | "refused";
  /** A sentence that says that a receiver refuses the request today, although it was in time or may have been; null if it is not so. */
  today: string | null;
  timestamp: SignaturePart;
  content: SignaturePart;
  key: SignaturePart;
}

const TOLERANCE_SECONDS = 300;

/** Reads headers that were pasted: lines of `Name: value`, as curl's `-H`, or JSON. */
export function parseHeaders(text: string): Record<string, string> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) {
      return Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, String(value)]));
    }
  } catch {
    // They are lines.
  }
  const lines = text.split("\n").map((line) =>
    line
      .trim()
      .replace(/^-H\s+/, "")
      .replace(/^(['"])(.*?)\1?\s*\\?$/, "$2"),
  );
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([\w-]+)\s*[:=]\s*(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value.trim()]];
    }),
  );
}

function headerOf(headers: Readonly<Record<string, string>>, name: string): string | null {
  return Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1] ?? null;
}

/** Why a receiver refuses the request; null if it accepts it. */
async function refusalOf(pasted: PastedWebhook): Promise<WebhookVerificationError | null> {
  try {
    await verifyWebhook({ ...pasted, now: pasted.receivedAt ?? pasted.now });
    return null;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error;
    throw error;
  }
}

/** Whether the signature fits, whatever its time and whatever the body says. */
async function fits(pasted: PastedWebhook, body: string, secret: string): Promise<boolean> {
  const refusal = await refusalOf({ ...pasted, body, secret, toleranceSeconds: Number.POSITIVE_INFINITY });
  return refusal === null || refusal.reason === "BODY_NOT_AN_EVENT";
}

function timestampPart(pasted: PastedWebhook): SignaturePart {
  const { headers, now, receivedAt, toleranceSeconds = TOLERANCE_SECONDS } = pasted;
  const text = timestampOf(headers);
  if (text === null)
    return { state: "wrong", says: "There is no X-Timestamp header: pass all headers of the request." };
  if (!TIMESTAMP.test(text)) return { state: "wrong", says: `“${text}” is no number of seconds since 1970.` };
  const allowed = `${toleranceSeconds} s are allowed.`;
  const ageSeconds = ageOf(text, receivedAt ?? now);
  const [past, ahead] =
    receivedAt === null ? ["ago", "ahead"] : ["before it was received", "after the time at which it was received"];
  if (ageSeconds > toleranceSeconds && receivedAt === null) {
    return {
      state: "unknown",
      says: `Signed ${ageSeconds} s ago; ${allowed} It was in time if your receiver got it soon after it was signed.`,
    };
  }
  if (ageSeconds > toleranceSeconds) {
    return {
      state: "wrong",
      says: `Signed ${ageSeconds} s ${past}; ${allowed} An old request is a replay, or your clock is ahead.`,
    };
  }
  if (-ageSeconds > toleranceSeconds)
    return { state: "wrong", says: `Signed ${-ageSeconds} s ${ahead}; ${allowed} Set your clock.` };
  return { state: "right", says: `Signed ${Math.abs(ageSeconds)} s ${ageSeconds < 0 ? ahead : past}; ${allowed}` };
}

const TIMESTAMP = /^\d{1,12}$/;

function timestampOf(headers: Readonly<Record<string, string>>): string | null {
  return headerOf(headers, "x-timestamp") ?? headerOf(headers, "webhook-timestamp");
}

/** Whole seconds from a timestamp to a time in milliseconds. */
function ageOf(timestamp: string, at: number): number {
  return Math.floor(at / 1_000) - Number(timestamp);
}

/** The sentence about today: the age is beyond the tolerance by now. */
function todayOf({ headers, now, toleranceSeconds = TOLERANCE_SECONDS }: PastedWebhook): string | null {
  const text = timestampOf(headers);
  if (text === null || !TIMESTAMP.test(text) || ageOf(text, now) <= toleranceSeconds) return null;
  return `A receiver that gets it today refuses it as a replay: it was signed ${ageOf(text, now)} s ago. A new attempt is signed anew.`;
}

/** Changes of a body that happen on its way, with their cause. */
const BODY_CHANGES: readonly { says: string; undo: (body: string) => string }[] = [
  { says: "The body has a line break or space more than was signed.", undo: (body) => body.trim() },
  { says: "The body lost the line break at its end.", undo: (body) => `${body}\n` },
  { says: "The line breaks became CRLF.", undo: (body) => body.replaceAll("\r\n", "\n") },
  {
    says: "The body was parsed and written again: verify the raw bytes, before anything parses them.",
    undo: (body) => JSON.stringify(JSON.parse(body)),
  },
];

/** Mistakes with a secret, with their cause. */
const SECRET_CHANGES: readonly { says: string; undo: (secret: string) => string }[] = [
  { says: "The secret has a space or line break at its edge.", undo: (secret) => secret.trim() },
  { says: "The secret is in quotes.", undo: (secret) => secret.replaceAll(/^["']|["']$/g, "") },
  { says: "The secret lacks its prefix: whsec_ is a part of it.", undo: (secret) => `whsec_${secret}` },
  {
    says: "The secret is percent-encoded.",
    undo: (secret) => decodeURIComponent(secret),
  },
];

/** The sentence of the first change whose undoing makes `isRight` true; null if there is none. */
async function findChange(
  changes: readonly { says: string; undo: (text: string) => string }[],
  text: string,
  isRight: (undone: string) => Promise<boolean>,
): Promise<string | null> {
  for (const { says, undo } of changes) {
    try {
      const undone = undo(text);
      if (undone !== text && undone !== "" && (await isRight(undone))) return says;
    } catch {
      // This text cannot have been changed in this way.
    }
  }
  return null;
}

/** Content and key of a signature that does not fit. */
async function mismatch(pasted: PastedWebhook): Promise<Pick<SignatureCheck, "content" | "key">> {
  const { body, secret, sentBody } = pasted;
  const right = (says: string): SignaturePart => ({ state: "right", says });
  const wrong = (says: string): SignaturePart => ({ state: "wrong", says });
  const bodyChange = await findChange(BODY_CHANGES, body, (undone) => fits(pasted, undone, secret));
  if (bodyChange !== null) return { content: wrong(bodyChange), key: right("The secret fits the original body.") };
  const secretChange = await findChange(SECRET_CHANGES, secret, (undone) => fits(pasted, body, undone));
  if (secretChange !== null) return { content: right("The body is as it was signed."), key: wrong(secretChange) };
  if (sentBody !== null && sentBody !== body && (await fits(pasted, sentBody, secret))) {
    return {
      content: wrong("The service sent another body with this event's id: it was changed on its way."),
      key: right("The secret fits the body that the service sent."),
    };
  }
  if (sentBody === body) {
    return {
      content: right("The service sent this very body."),
      key: wrong(
        "The body and headers are real, so the secret is another one: that of another endpoint, or an old one.",
      ),
    };
  }
  return {
    content: {
      state: "unknown",
      says: "Changed on its way, if the secret is right. Signed is the timestamp, a dot, and the raw body.",
    },
    key: { state: "unknown", says: "Another endpoint's secret or an old one, if the body is raw." },
  };
}

const NOT_REACHED: SignaturePart = { state: "unknown", says: "Not checked: there is no signature to compare with." };

function accepted({ receivedAt }: PastedWebhook): string {
  return receivedAt === null
    ? "The request is genuine: a receiver accepts it."
    : "The request is genuine: it was in time when it was received.";
}

/** Checks a request as a receiver does at the time of its receipt, and names the part that is wrong. */
export async function checkSignature(pasted: PastedWebhook): Promise<SignatureCheck> {
  const refused = await refusalOf(pasted);
  const refusal = refused?.reason ?? null;
  const timestamp = timestampPart(pasted);
  const isAged = refusal === "TIMESTAMP_TOO_OLD" && pasted.receivedAt === null;
  const today = todayOf(pasted);
  const result = {
    refusal,
    says: isAged ? "Body and secret are right. The request is old by now." : (refused?.message ?? accepted(pasted)),
    verdict: isAged ? ("aged" as const) : refusal === null ? ("genuine" as const) : ("refused" as const),
    today: isAged || refusal === null ? today : null,
    timestamp,
  };
  if (refusal === "SECRET_MISSING") {
    return {
      ...result,
      content: NOT_REACHED,
      key: { state: "wrong", says: "There is no secret: an empty one verifies nothing." },
    };
  }
  if (refusal === "SIGNATURE_MISSING" || refusal === "SIGNATURE_MALFORMED" || refusal === "TIMESTAMP_MALFORMED") {
    return { ...result, content: NOT_REACHED, key: NOT_REACHED };
  }
  if (refusal === "SIGNATURE_WRONG") return { ...result, ...(await mismatch(pasted)) };
  return {
    ...result,
    content:
      refusal === "BODY_NOT_AN_EVENT"
        ? { state: "wrong", says: "The body was signed as it is, but it is no event of this service." }
        : { state: "right", says: "The body is as it was signed." },
    key: { state: "right", says: "The secret is the one that signed." },
  };
}

/** Packs the headers of an attempt for the store, without the values that its event has, and unpacks them. Pure. */

const PRODUCT = "Tightbeam/";
const OWN_PREFIX = "sha256=";
const STANDARD_PREFIX = "v1,";
/** Bytes of HMAC-SHA256. */
const DIGEST_BYTES = 32;

/** The values of an event that the headers of its attempts repeat. */
export interface HeadersOfEvent {
  eventId: string;
  correlationId: string;
}

/**
 * Packs the headers of an attempt, given as names and values in turn: the version of the service, the time in base 36, and the signatures as
 * one base64url. Null if a header is missing that every signed request has.
 */
export function packHeaders(sent: readonly string[]): string | null {
  const read = (name: string) => sent[sent.indexOf(name) + 1] ?? "";
  if (!["User-Agent", "X-Timestamp", "X-Signature"].every((name) => sent.includes(name))) return null;
  const digests = [Buffer.from(read("X-Signature").slice(OWN_PREFIX.length), "hex")];
  const standard = sent.includes("webhook-signature") ? read("webhook-signature").split(" ") : [];
  for (const signature of standard) digests.push(Buffer.from(signature.slice(STANDARD_PREFIX.length), "base64"));
  const version = read("User-Agent").slice(PRODUCT.length);
  return [version, Number(read("X-Timestamp")).toString(36), Buffer.concat(digests).toString("base64url")].join(" ");
}

/** The headers that were packed, in the order in which they were sent. */
export function unpackHeaders(packed: string, { eventId, correlationId }: HeadersOfEvent): Record<string, string> {
  const [version = "", time = "", base64 = ""] = packed.split(" ");
  const timestamp = String(Number.parseInt(time, 36));
  const bytes = Buffer.from(base64, "base64url");
  const standard: string[] = [];
  for (let from = DIGEST_BYTES; from < bytes.length; from += DIGEST_BYTES) {
    standard.push(STANDARD_PREFIX + bytes.subarray(from, from + DIGEST_BYTES).toString("base64"));
  }
  return {
    "Content-Type": "application/json",
    "User-Agent": PRODUCT + version,
    "X-Correlation-Id": correlationId,
    "X-Signature": OWN_PREFIX + bytes.subarray(0, DIGEST_BYTES).toString("hex"),
    "X-Timestamp": timestamp,
    ...(standard.length === 0
      ? {}
      : { "webhook-id": eventId, "webhook-timestamp": timestamp, "webhook-signature": standard.join(" ") }),
  };
}

/** Addresses of recipients and senders: phone numbers in E.164 and iMessage e-mails. Pure. */

export interface Address {
  kind: "phone" | "email";
  /** The form it is stored and compared in: a phone number as it came, an e-mail in lower case. */
  address: string;
}

/** Contract 2: a plus, then 2 to 15 digits that do not begin with 0 (ITU-T E.164). */
const E164 = /^\+[1-9]\d{1,14}$/;

/** RFC 5321, 4.5.3.1: a path holds 256 characters, two of them its brackets; a local part holds 64. */
const EMAIL_LENGTH_MAX = 254;
const LOCAL_PART_LENGTH_MAX = 64;

/** A dot-atom (RFC 5322, 3.2.3). */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/** Two labels or more of at most 63 characters (RFC 1035, 2.3.4); the last one has a letter, so that no IP address passes. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?=[a-z0-9-]*[a-z])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The address that `text` is, or null when it is none. Numbers are taken in E.164 only, without spaces or dashes:
 * what is guessed at here would be sent to a stranger. E-mails are compared without regard to case, so they are lower-cased.
 */
export function parseAddress(text: string): Address | null {
  if (E164.test(text)) return { kind: "phone", address: text };
  if (text.length > EMAIL_LENGTH_MAX) return null;
  const address = text.toLowerCase();
  const at = address.lastIndexOf("@");
  if (at < 1 || at > LOCAL_PART_LENGTH_MAX) return null;
  if (!LOCAL_PART.test(address.slice(0, at)) || !DOMAIN.test(address.slice(at + 1))) return null;
  return { kind: "email", address };
}

/** The form for logs: the last four characters, or none of an address so short that they would be most of it. */
export function maskAddress(address: string): string {
  return address.length < 8 ? "…" : `…${address.slice(-4)}`;
}

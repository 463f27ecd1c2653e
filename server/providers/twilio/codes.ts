/**
 * Twilio's error codes that say more than their HTTP status, by kind. A code that is not listed is judged by its
 * status, because Twilio reuses codes. Data only.
 */

/**
 * - `unreachable`: the recipient has no SMS.
 * - `recipient`: the recipient, or its carrier, accepts no message from us.
 * - `content`: the text was refused.
 * - `sender`: our number or messaging service is not set up for this.
 * - `account`: nothing goes out until the operator fixes the account or its credentials.
 * - `busy`: too many requests.
 * - `queueFull`: our number has too many waiting messages.
 * - `later`: provably not sent, and may work later.
 * - `unsure`: possibly sent.
 */
export type CodeKind =
  | "unreachable"
  | "recipient"
  | "content"
  | "sender"
  | "account"
  | "busy"
  | "queueFull"
  | "later"
  | "unsure";

interface CodeMeaning {
  kind: CodeKind;
  /** A sentence for the customer. */
  words: string;
  /** The recipient opted out of messages from this number. */
  isOptOut?: true;
}

/** By code. */
export const CODES: Readonly<Record<number, CodeMeaning>> = {
  20003: { kind: "account", words: "Twilio does not accept the credentials of this instance." },
  20429: { kind: "busy", words: "Twilio limits the rate of requests." },
  21211: { kind: "unreachable", words: "The recipient's number is not valid." },
  21408: { kind: "recipient", words: "The account may not send to this region: see its geographic permissions." },
  21606: { kind: "sender", words: "The sending number is not a number of this account that can send SMS." },
  21610: { kind: "recipient", words: "The recipient has stopped messages from this number.", isOptOut: true },
  21611: { kind: "queueFull", words: "Too many messages of this number are waiting at Twilio." },
  21612: { kind: "recipient", words: "This number cannot send to the recipient's number." },
  21614: { kind: "unreachable", words: "The recipient's number is not a mobile number." },
  21617: { kind: "content", words: "The text is longer than the 1,600 characters that Twilio accepts." },
  21659: { kind: "sender", words: "The sending number does not belong to this account." },
  21660: { kind: "sender", words: "The sending number does not belong to this account." },
  30001: { kind: "later", words: "Twilio's queue was full; a later attempt may succeed." },
  30002: { kind: "account", words: "The account was suspended before the message could be sent." },
  30003: {
    kind: "later",
    words: "The recipient's phone is switched off or out of reach; a later attempt may succeed.",
  },
  30004: { kind: "recipient", words: "The recipient, or its carrier, blocks the message." },
  30005: { kind: "unreachable", words: "The recipient's number is not in use." },
  30006: { kind: "unreachable", words: "The recipient's number is a landline, or its carrier accepts no SMS." },
  30007: { kind: "content", words: "The message was filtered, by Twilio or a carrier." },
  30008: { kind: "unsure", words: "The message was not delivered, and the carrier does not say why." },
  30017: { kind: "later", words: "The carrier is congested; a later attempt may succeed." },
  30022: { kind: "later", words: "The carrier's rate for this sender is used up; a later attempt may succeed." },
  30034: {
    kind: "sender",
    words: "The sending number is not registered for this kind of traffic (10DLC).",
  },
  30410: { kind: "unsure", words: "The carrier did not answer in time; the message may have been delivered." },
  30500: { kind: "unsure", words: "Something failed inside Twilio." },
};

/** Looks up a code; null if it is judged by its HTTP status. */
export function codeMeaning(code: number | null): CodeMeaning | null {
  return code === null || !Object.hasOwn(CODES, code) ? null : (CODES[code] ?? null);
}

/**
 * Twilio's error codes that say more than their HTTP status, sorted by what is to be done. Twilio gives codes new meanings
 * now and then: what is not here goes by its status. Data only.
 */

/**
 * - `unreachable`: this recipient has no SMS. - `recipient`: this recipient, or its carrier, takes none from us.
 * - `content`: this text. - `sender`: the number or service it is sent from is not set up for it.
 * - `account`: nothing goes out before the account or its credentials are put in order. - `busy`: asked too fast.
 * - `queueFull`: the number it is sent from has too many waiting. - `later`: provably not sent, and may work later.
 * - `unsure`: it may have been sent.
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
  /** A sentence for whoever sent the message. */
  words: string;
  /** The recipient does not want messages from this number. */
  isOptOut?: true;
}

/** By code. */
export const CODES: Readonly<Record<number, CodeMeaning>> = {
  20003: { kind: "account", words: "Twilio does not accept the credentials of this instance." },
  20429: { kind: "busy", words: "Twilio is asked too fast." },
  21211: { kind: "unreachable", words: "The recipient's number is no valid number." },
  21408: { kind: "recipient", words: "The account may not send to this region; its geographic permissions say which." },
  21606: { kind: "sender", words: "The number that it is sent from is not one of this account that can send SMS." },
  21610: { kind: "recipient", words: "The recipient has stopped messages from this number.", isOptOut: true },
  21611: { kind: "queueFull", words: "Too many messages of this number are waiting at Twilio." },
  21612: { kind: "recipient", words: "There is no way from this number to the recipient's." },
  21614: { kind: "unreachable", words: "The recipient's number is no mobile number." },
  21617: { kind: "content", words: "The text is longer than the 1,600 characters that Twilio takes." },
  21659: { kind: "sender", words: "The number that it is sent from does not belong to this account." },
  21660: { kind: "sender", words: "The number that it is sent from does not belong to this account." },
  30001: { kind: "later", words: "Twilio's queue was full; sent again later it may arrive." },
  30002: { kind: "account", words: "The account was suspended before the message could be sent." },
  30003: {
    kind: "later",
    words: "The recipient's phone is switched off or out of reach; sent again later it may arrive.",
  },
  30004: { kind: "recipient", words: "The recipient, or its carrier, blocks the message." },
  30005: { kind: "unreachable", words: "The recipient's number is not in use." },
  30006: { kind: "unreachable", words: "The recipient's number is a landline, or its carrier takes no SMS." },
  30007: { kind: "content", words: "The message was filtered, by Twilio or a carrier." },
  30008: { kind: "unsure", words: "It was not delivered, and no carrier says why." },
  30017: { kind: "later", words: "The carrier is congested; sent again later it may arrive." },
  30022: { kind: "later", words: "The carrier's rate for this sender is used up; sent again later it may arrive." },
  30034: {
    kind: "sender",
    words: "The number that it is sent from is not registered for this kind of traffic (10DLC).",
  },
  30410: { kind: "unsure", words: "The carrier did not answer in time; it may have been delivered." },
  30500: { kind: "unsure", words: "Something failed inside Twilio." },
};

/** What a code means; null for one that goes by its HTTP status. */
export function codeMeaning(code: number | null): CodeMeaning | null {
  return code === null || !Object.hasOwn(CODES, code) ? null : (CODES[code] ?? null);
}

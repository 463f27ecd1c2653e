/** Reads Apple Cash payments: from the record in the message's payload, otherwise from its text. Pure. */

import { type Archived, readArchive } from "./keyed-archive.ts";
import { type Field, readFields } from "./protobuf.ts";

/** Apple Cash content of a message. It states what the sender's phone shows, and does not prove that money moved. */
export interface AppleCash {
  /** `recurring` announces a payment that will repeat. */
  kind: "payment" | "request" | "recurring";
  /** Amount in US dollars; null if the amount is ambiguous or in another currency. */
  amountCents: number | null;
  /** Apple's id of the transaction, or of the payment; null if there is none yet. */
  transactionId: string | null;
  /** Text that the phone shows: `Sent $265 with Apple Pay.` */
  text: string | null;
}

/** Bundle id of the Messages extension that sends payments. In chat.db a plug-in prefix precedes it. */
const BUNDLE_ID = "com.apple.PassbookUIService.PeerPaymentMessagesExtension";

/** Prefix of the payload's `URL`, which holds a `PKProtobufPeerPaymentMessage`. */
const RECORD_PREFIX = "data:application/vnd.apple.pkppm;base64,";
const RECORD_LENGTH_MAX = 65_536;

/** Field numbers of `PKProtobufPeerPaymentMessage`, and of its decimal amount. */
const FIELD = { type: 3, currency: 4, paymentId: 9, transactionId: 10, decimalAmount: 19 } as const;
const DECIMAL = { exponent: 2, length: 3, isNegative: 4, mantissa: 7 } as const;
const KINDS = new Map<unknown, AppleCash["kind"]>([
  [1n, "payment"],
  [2n, "request"],
  [3n, "recurring"],
]);

/** The mantissa of an NSDecimal: 8 words of 16 bits, lowest first. */
const MANTISSA_BYTES_MAX = 16;
/** 999,999.99: more than Apple Cash transfers at once. */
const AMOUNT_CENTS_MAX = 99_999_999;

/** Matches a number after a dollar sign, with all its points and commas. */
const DOLLARS = /(?:US)?\$ ?(\d+(?:[.,]\d+)*)/g;
/** A character before the sign that makes the dollars others (`CA$`), or the sign a part of a longer number. */
const NOT_BEFORE = /[A-Za-z\d.,$]/;
const AMOUNT = /^(\d{1,3}(?:,\d{3})+|\d+)(\.\d\d?)?$/;

/** Whether a message is an Apple Cash payment. */
export function isAppleCash(balloonBundleId: string | null): boolean {
  return balloonBundleId === BUNDLE_ID || balloonBundleId?.endsWith(`:${BUNDLE_ID}`) === true;
}

/**
 * Reads the payment in a message. `payloadData` is the archive as the Mac returns it. If it is missing or malformed, the
 * text of the message is parsed instead. Never throws, whatever a phone sends.
 */
export function readAppleCash(payloadData: unknown, messageText: string | null): AppleCash {
  const archive = readArchive(payloadData);
  const userInfo = archive?.get("userInfo");
  const within = typeof userInfo === "string" ? undefined : userInfo;
  const shown = textAt(archive, "ldtext") ?? textAt(within, "subcaption") ?? plain(messageText);
  const texts = [shown, textAt(within, "subcaption")].filter((text) => text !== null);
  const record = recordAt(archive);
  return {
    kind: KINDS.get(record?.get(FIELD.type)) ?? kindOf(texts),
    amountCents: amountOf(record, texts),
    transactionId: wordsOf(record?.get(FIELD.transactionId)) ?? wordsOf(record?.get(FIELD.paymentId)),
    text: shown,
  };
}

/** Returns the record in the payload's URL; null if there is none of a known type. */
function recordAt(archive: Archived | null): ReadonlyMap<number, Field> | null {
  const url = archive?.get("URL");
  if (typeof url !== "string" || !url.startsWith(RECORD_PREFIX) || url.length > RECORD_LENGTH_MAX) return null;
  const fields = readFields(Buffer.from(url.slice(RECORD_PREFIX.length), "base64"));
  return fields !== null && KINDS.has(fields.get(FIELD.type)) ? fields : null;
}

function kindOf(texts: readonly string[]): AppleCash["kind"] {
  if (texts.some((text) => /^sending you\b/i.test(text))) return "recurring";
  return texts.some((text) => /\brequest/i.test(text)) ? "request" : "payment";
}

function amountOf(record: ReadonlyMap<number, Field> | null, texts: readonly string[]): number | null {
  const currency = wordsOf(record?.get(FIELD.currency));
  if (currency !== null && currency !== "USD") return null;
  const decimal = record?.get(FIELD.decimalAmount);
  if (decimal instanceof Uint8Array) {
    const exact = centsOfDecimal(decimal);
    if (exact !== undefined) return exact;
  }
  return centsOfTexts(texts);
}

/** Converts a decimal to cents; null if they are not a positive whole number, undefined if the bytes are no decimal. */
function centsOfDecimal(bytes: Uint8Array): number | null | undefined {
  const fields = readFields(bytes);
  const mantissa = fields?.get(DECIMAL.mantissa);
  if (fields === null || !(mantissa instanceof Uint8Array) || mantissa.length > MANTISSA_BYTES_MAX) return undefined;
  const words = fields.get(DECIMAL.length);
  const length = typeof words === "bigint" && words * 2n <= BigInt(mantissa.length) ? Number(words) * 2 : undefined;
  let value = 0n;
  for (const byte of mantissa.subarray(0, length).toReversed()) value = (value << 8n) | BigInt(byte);
  const exponent = fields.get(DECIMAL.exponent);
  const power = 2 + Number(typeof exponent === "bigint" ? BigInt.asIntN(32, exponent) : 0n);
  if (fields.get(DECIMAL.isNegative) === 1n || value === 0n || Math.abs(power) > 40) return null;
  const unit = 10n ** BigInt(Math.abs(power));
  if (power < 0 && value % unit !== 0n) return null;
  const cents = power < 0 ? value / unit : value * unit;
  return cents > BigInt(AMOUNT_CENTS_MAX) ? null : Number(cents);
}

/** Returns the only amount in the texts; null if there are none or several. */
function centsOfTexts(texts: readonly string[]): number | null {
  const amounts = new Set<number>();
  for (const text of texts) {
    for (const { 1: number = "", index } of text.matchAll(DOLLARS)) {
      const [, dollars, decimals = ""] = AMOUNT.exec(number) ?? [];
      if (dollars === undefined || NOT_BEFORE.test(text.charAt(index - 1))) continue;
      amounts.add(Number(dollars.replaceAll(",", "")) * 100 + Number(decimals.slice(1).padEnd(2, "0")));
    }
  }
  const [cents] = amounts;
  return amounts.size === 1 && cents !== undefined && cents > 0 && cents <= AMOUNT_CENTS_MAX ? cents : null;
}

function textAt(dictionary: Archived | null | undefined, key: string): string | null {
  const value = dictionary?.get(key);
  return typeof value === "string" ? plain(value) : null;
}

/** Joins a text into one line with plain spaces (Apple uses no-break spaces). Returns null for an empty text. */
function plain(text: string | null): string | null {
  const line = text?.replace(/\s+/g, " ").trim() ?? "";
  return line === "" ? null : line;
}

function wordsOf(field: Field | undefined): string | null {
  if (!(field instanceof Uint8Array) || field.length === 0) return null;
  return Buffer.from(field).toString("utf8");
}

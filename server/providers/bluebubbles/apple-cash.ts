/** Apple Cash: what the balloon of a payment says, exactly where it has its record, else by its words. Pure. */

import { type Archived, readArchive } from "./keyed-archive.ts";
import { type Field, readFields } from "./protobuf.ts";

/** A payment's balloon. It is what the sender's phone says, and no proof that money moved. */
export interface AppleCash {
  /** A recurring payment is one that is announced, as often as it says. */
  kind: "payment" | "request" | "recurring";
  /** In US dollars; null where no amount can be told for certain, or it is in another currency. */
  amountCents: number | null;
  /** Apple's own name of the transaction, or of the payment; null where it has none yet. */
  transactionId: string | null;
  /** What the phone shows of it: `Sent $265 with Apple Pay.` */
  text: string | null;
}

/** The extension of Messages that payments come from; in chat.db a plug-in's prefix stands before it. */
const BUNDLE_ID = "com.apple.PassbookUIService.PeerPaymentMessagesExtension";

/** `URL` of the balloon: a `PKProtobufPeerPaymentMessage`. */
const RECORD_PREFIX = "data:application/vnd.apple.pkppm;base64,";
const RECORD_LENGTH_MAX = 65_536;

/** Numbers of the fields of `PKProtobufPeerPaymentMessage`, and of its decimal amount. */
const FIELD = { type: 3, currency: 4, paymentId: 9, transactionId: 10, decimalAmount: 19 } as const;
const DECIMAL = { exponent: 2, length: 3, isNegative: 4, mantissa: 7 } as const;
const KINDS = new Map<unknown, AppleCash["kind"]>([
  [1n, "payment"],
  [2n, "request"],
  [3n, "recurring"],
]);

/** An NSDecimal's mantissa is 8 words of 16 bits, the lowest first. */
const MANTISSA_BYTES_MAX = 16;
/** 999,999.99: more than Apple Cash ever moves at once. */
const AMOUNT_CENTS_MAX = 99_999_999;

/** Dollars in a sentence, and nothing of another dollar (`CA$`) or of a longer number. */
const DOLLARS = /(?<![A-Za-z\d.,$])(?:US)?\$ ?(\d{1,3}(?:,\d{3})+|\d+)(\.\d\d?)?(?!\d|[.,]\d)/g;

/** Whether a message's balloon is a payment. */
export function isAppleCash(balloonBundleId: string | null): boolean {
  return balloonBundleId === BUNDLE_ID || balloonBundleId?.endsWith(`:${BUNDLE_ID}`) === true;
}

/**
 * What a payment's balloon says. `payloadData` is an archive as the Mac gives it; where that is missing or makes no
 * sense, the message's own text has to do. Never throws, whatever a phone may send.
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

/** The record in the balloon's address; null unless it is one that says of which type it is. */
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

/** Cents of a decimal; null where they are no whole number above 0, undefined where it is no decimal at all. */
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

/** The one amount that texts name; null where they name none, or different ones. */
function centsOfTexts(texts: readonly string[]): number | null {
  const amounts = new Set<number>();
  for (const text of texts) {
    for (const [, dollars = "", decimals = ""] of text.matchAll(DOLLARS)) {
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

/** A text in one line, with common spaces: Apple writes no-break ones. Null for an empty one. */
function plain(text: string | null): string | null {
  const line = text?.replace(/\s+/g, " ").trim() ?? "";
  return line === "" ? null : line;
}

function wordsOf(field: Field | undefined): string | null {
  if (!(field instanceof Uint8Array) || field.length === 0) return null;
  return Buffer.from(field).toString("utf8");
}

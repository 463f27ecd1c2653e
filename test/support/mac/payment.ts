/** Makes the balloon of an Apple Cash message: a keyed archive around Apple's protobuf. */

/** The name in the column. */
export const PAYMENT_BUNDLE =
  "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.PassbookUIService.PeerPaymentMessagesExtension";

export interface Balloon {
  amountCents: number;
  kind: "payment" | "request" | "recurring";
  from: string;
  to: string;
  /** Identifies the transaction: two balloons of one transaction have the same id. */
  transaction: string;
  /** `none`: there is no blob, as on a Mac that shows only the text. `garbled`: the blob cannot be decoded. */
  blob?: "whole" | "none" | "garbled";
  currency?: string;
}

/** The `payloadData` column of a payment, decoded as the server decodes it. */
export function paymentPayload(balloon: Balloon): unknown[] {
  const money = `$${dollars(balloon.amountCents)}`;
  const blob = balloon.blob ?? "whole";
  const isRequest = balloon.kind === "request";
  const texts: Record<Balloon["kind"], string> = {
    payment: `Sent ${money} with Apple\u00a0Cash.`,
    request: `Requested ${money} with Apple\u00a0Cash.`,
    recurring: `Sending you ${money} weekly starting Jan 5, 2026`,
  };
  const title = balloon.kind === "recurring" ? "" : `${money}\u00a0${isRequest ? "Request" : "Payment"}`;
  const bytes = blob === "garbled" ? Buffer.from([0xff, 0xff, 0xff, 0x07]) : Buffer.from(peerPayment(balloon));
  const url = `data:application/vnd.apple.pkppm;base64,${blob === "none" ? "" : bytes.toString("base64")}`;
  return [
    archive({
      ldtext: texts[balloon.kind],
      an: "Apple\u00a0Cash",
      layoutClass: "MSMessageTemplateLayout",
      URL: { "NS.base": null, "NS.relative": url },
      userInfo: { "image-subtitle": "", "image-title": "", caption: "Apple\u00a0Cash", subcaption: title },
    }),
  ];
}

function dollars(cents: number): string {
  return cents % 100 === 0 ? String(cents / 100) : (cents / 100).toFixed(2);
}

type Node = string | number | null | { [key: string]: Node };

/** NSKeyedArchiver's layout: every value is in a table and referred to by its index; index 0 is null. */
function archive(root: { [key: string]: Node }): unknown {
  const objects: unknown[] = ["$null"];
  const put = (value: Node): { UID: number } => {
    if (value === null) return { UID: 0 };
    const at = objects.length;
    objects.push(value);
    if (typeof value === "object") objects[at] = "NS.relative" in value ? plain(value) : dictionary(value);
    return { UID: at };
  };
  const plain = (value: { [key: string]: Node }) =>
    Object.fromEntries(Object.entries(value).map(([key, item]) => [key, put(item)]));
  const dictionary = (value: { [key: string]: Node }) => ({
    "NS.keys": Object.keys(value).map((key) => put(key)),
    "NS.objects": Object.values(value).map((item) => put(item)),
    $class: put({ $classname: "NSMutableDictionary", "NS.relative": null }),
  });
  const top = put(root);
  return { $version: 100_000, $archiver: "NSKeyedArchiver", $top: { root: top }, $objects: objects };
}

const KINDS: Readonly<Record<Balloon["kind"], number>> = { payment: 1, request: 2, recurring: 3 };

/** The fields of PKProtobufPeerPaymentMessage that are used. Field 19 is the amount: mantissa · 10^exponent. */
function peerPayment(balloon: Balloon): number[] {
  const decimal = [
    ...varintField(2, -2n),
    ...varintField(3, 4n),
    ...varintField(4, 0n),
    ...bytesField(7, littleEndian16(balloon.amountCents)),
  ];
  return [
    ...varintField(1, 1n),
    ...textField(2, `message-${balloon.transaction}`),
    ...varintField(3, BigInt(KINDS[balloon.kind])),
    ...textField(4, balloon.currency ?? "USD"),
    ...varintField(5, BigInt(balloon.amountCents) * 2n),
    ...textField(6, balloon.from),
    ...textField(7, balloon.to),
    ...(balloon.kind === "request" ? textField(8, `token-${balloon.transaction}`) : []),
    ...(balloon.kind === "payment" ? textField(9, `payment-${balloon.transaction}`) : []),
    ...(balloon.kind === "payment" ? textField(10, `transaction-${balloon.transaction}`) : []),
    ...bytesField(19, decimal),
  ];
}

function littleEndian16(value: number): number[] {
  const words: number[] = [];
  for (let left = value; left > 0; left = Math.floor(left / 65_536)) words.push(left & 0xff, (left >>> 8) & 0xff);
  return words.length === 0 ? [0, 0] : words;
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, value);
  do {
    const byte = Number(left & 0x7fn);
    left >>= 7n;
    bytes.push(left === 0n ? byte : byte | 0x80);
  } while (left !== 0n);
  return bytes;
}

function varintField(field: number, value: bigint): number[] {
  return [...varint(BigInt(field << 3)), ...varint(value)];
}

function bytesField(field: number, bytes: readonly number[]): number[] {
  return [...varint(BigInt((field << 3) | 2)), ...varint(BigInt(bytes.length)), ...bytes];
}

function textField(field: number, text: string): number[] {
  return bytesField(field, [...Buffer.from(text, "utf8")]);
}

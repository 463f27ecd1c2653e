/** Sentences of phones and banks that report a payment, as data. A sentence that only mentions money is not one. Pure. */

import { parseAmount } from "./payment.ts";

/** `1,234.56`: cents have two digits or are missing, and no part of a longer number matches. */
const NUMBER = String.raw`(?<![\d.,])(\d{1,3}(?:,\d{3})+|\d+)(\.\d\d)?(?![\d]|[.,]\d)`;
/** `$25`, `US$25`, `$25.00 USD`, `USD 25`, `25 USD`. */
const MONEY = String.raw`(?:(?:US)?\$ ?${NUMBER}(?: ?USD)?|USD ?${NUMBER}|${NUMBER} ?USD)`;

/** Words that look like a name at the start of a sentence and make it a question, a doubt or a report about others. */
const NO_NAMES =
  "I We You They He She It This That Who Whoever What When If Unless Has Have Had Did Does Do Was Were Is Are Can Could " +
  "Would Will Should May Might Must Nobody None No Not Never Please Once After Before Until Since Because Maybe Someone " +
  "Somebody Anyone Anybody Suppose Say Tell";
/** A word of a name: capitalised, or a particle between two capitalised words. */
const CAPITAL = String.raw`(?:[dl]['’])?\p{Lu}[\p{L}\p{M}'’.-]*`;
const PARTICLE = "(?:(?:de|da|di|do|du|del|der|den|la|le|van|von|bin|al|el) ){1,2}";
/** Who paid, as a phone names people: one to four words, a number, or an e-mail address. */
const NAME = String.raw`(?:(?!(?:${NO_NAMES.replaceAll(" ", "|")})\b)${CAPITAL}(?: (?:${PARTICLE})?${CAPITAL}){0,3}|\+\d{7,15}|[^\s@]+@[^\s@]+)`;

/** Permitted continuations: by which means, and for what. No question. */
const SERVICE = "(?: (?:with|via|using|through|on) (?:Apple (?:Pay|Cash)|Zelle®?|Venmo|PayPal|Cash App|Google Pay))?";
const END = `${SERVICE}(?: (?:for|-|–|—) [^?]*|: [^?]*)?[.!]?`;
const FROM = `(?: from ${NAME})?`;

/** The wordings, each of a whole text. */
const WORDINGS: readonly RegExp[] = [
  // Apple Cash, Cash App, Zelle, Venmo: “Jane Doe sent you $25.00”, “Jane paid you $25”.
  `(?:${NAME} (?:just |has )?)?(?:[Ss]ent|[Pp]aid) you (?:a |a payment of )?${MONEY}(?: payment)?${END}`,
  // Apple Cash, what the payer's phone puts into the message: “Sent $265 with Apple Pay.”
  `Sent ${MONEY} with Apple (?:Pay|Cash)[.]?`,
  // Apple Cash, the caption of its bubble: “$265 Payment”, “Apple Cash payment: $25.00”.
  `${MONEY} Payment`,
  `Apple (?:Pay|Cash) [Pp]ayment:? ${MONEY}${FROM}[.]?`,
  // PayPal, Zelle, banks: “You received $25.00 from Jane Doe”, “You've received a payment of $25.00 USD”.
  `You(?: have|['’]ve)? (?:just )?received (?:a |a payment of )?${MONEY}(?: payment)?${FROM}${END}`,
  `You(?: were| have been|['’]ve been) (?:paid|sent) ${MONEY}(?: by ${NAME})?${END}`,
  // “Payment received: $25.00”, “A payment of $25.00 was received from Jane Doe”.
  `Payment received: ${MONEY}${FROM}${END}`,
  `(?:A p|P)ayment of ${MONEY}(?: was| has been)? received${FROM}${END}`,
].map((wording) => new RegExp(`^${wording}$`, "u"));

/** Longest text that is parsed, in UTF-16 units: notifications are short. */
const TEXT_LENGTH_MAX = 500;

/** The amount in cents that a text reports as paid to its reader; null if it reports no exact amount. */
export function paidCentsOf(text: string): number | null {
  if (text.length > TEXT_LENGTH_MAX) return null;
  // Apple writes no-break spaces between the words of its names, and before a currency.
  const line = text.replace(/\s+/g, " ").trim();
  for (const wording of WORDINGS) {
    const found = wording.exec(line);
    if (found === null) continue;
    const [dollars = "", decimals = ""] = found.slice(1).filter((part) => part !== undefined);
    return parseAmount(`${dollars.replaceAll(",", "")}${decimals}`);
  }
  return null;
}

/** Which sentences say that somebody was paid, and which only speak of money. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { requestText } from "./payment.ts";
import { paidCentsOf } from "./payment-text.ts";

const PAID: [text: string, cents: number][] = [
  ["sent you $25.00", 2_500],
  ["Sent you $25", 2_500],
  ["Jane sent you $25.00", 2_500],
  ["Jane Doe sent you $25.00.", 2_500],
  ["Jane Doe sent you $1,234.56 with Apple Cash.", 123_456],
  ["Jean-Luc d’Arc sent you $25", 2_500],
  ["Ludwig van der Rohe sent you $25", 2_500],
  ["MARÍA JOSÉ O'NEIL sent you $0.01!", 1],
  ["+15005550112 sent you $25.00", 2_500],
  ["jane@example.com sent you $25.00", 2_500],
  ["Jane just sent you $25 for lunch", 2_500],
  ["Jane sent you $25 for lunch, I owe you $3 more", 2_500],
  ["Jane paid you $25.00 - pizza", 2_500],
  ["Jane paid you $12 on Venmo", 1_200],
  ["Jane sent you a payment of US$25.00", 2_500],
  ["Sent $265 with Apple\u00a0Pay.", 26_500],
  ["Sent $25.00 with Apple Cash.", 2_500],
  ["$265\u00a0Payment", 26_500],
  ["Apple Cash payment: $25.00", 2_500],
  ["You received $25", 2_500],
  ["You received $25.00 from Jane Doe", 2_500],
  ["You received $25.00 from Jane Doe.", 2_500],
  ["You've received $25.00 USD from Jane", 2_500],
  ["You’ve received a payment of 25.00 USD from Jane Doe.", 2_500],
  ["You received a $25.00 payment from Jane Doe: dinner", 2_500],
  ["You have received USD 999,999.99", 99_999_999],
  ["You were paid $40.00 by Jane Doe", 4_000],
  ["You've been sent $40.00", 4_000],
  ["Payment received: $25.00", 2_500],
  ["A payment of $25.00 was received from Jane Doe.", 2_500],
  ["Payment of $25.00 received", 2_500],
  ["  You received\n$ 25.00 ", 2_500],
];

const NOT_PAID: string[] = [
  "",
  "$25",
  "25.00",
  "please send me $25",
  "Please send me $25.00",
  "Can you send me $25?",
  "Send you $25",
  "I will send you $25",
  "Sending you $25",
  "Sending you $1 weekly starting Nov 18, 2023",
  "I sent $25 to Bob",
  "I sent $25",
  "I sent you $25",
  "We sent you $25.00",
  "You sent $25 to Bob",
  "You sent you $25",
  "Jane sent Bob $25",
  "Jane sent me $25",
  "Has Jane sent you $25.00",
  "Jane sent you $25?",
  "Jane sent you $25 for lunch?",
  "Who sent you $25",
  "Nobody sent you $25",
  "Never sent you $25",
  "If Jane sent you $25, tell me",
  "When Jane sent you $25 I was there",
  "She never sent you $25",
  "jane has not sent you $25",
  "Jane sent you $25 last week and wants it back",
  "Jane sent you a request for $25",
  "Jane requested $25.00",
  "Jane requests $25.00 with Apple Cash.",
  "$25 Request",
  "$25 Payment?",
  "$25 Payment Request",
  "You received a request for $25.00",
  "You received $25.00?",
  "You received 25 messages",
  "You received €25.00",
  "You received £25",
  "You received $25.5",
  "You received $25.001",
  "You received $1,23",
  "You received $12,34.00",
  "You received $25.000",
  "You received -$25",
  "You received $0",
  "You received $0.00",
  "You received $1,000,000",
  "You received $٢٥",
  "Payment request: $25.00",
  "Payment request: $25.00 - sent you $25.00",
  "Did you get it? Jane sent you $25",
  "The text said: Jane sent you $25.00",
];

for (const [text, cents] of PAID) {
  test(`“${text.trim()}” says that ${cents} cents were paid`, () => {
    assert.equal(paidCentsOf(text), cents);
  });
}

test("a request, a promise, a question and a payment to another person are not read as payments", () => {
  assert.deepEqual(
    NOT_PAID.filter((text) => paidCentsOf(text) !== null),
    [],
  );
});

test("the text of our own payment request is never read as a payment, whatever its note says", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 99_999_999 }),
      fc.option(fc.constantFrom(...PAID.map(([text]) => text))),
      (cents, note) => paidCentsOf(requestText(cents, note)) === null,
    ),
  );
});

test("reading a payment from any text takes under 100 ms", () => {
  const parts = fc.constantFrom(
    "Jane ",
    "A",
    "a@",
    "sent you ",
    "$1",
    ",111",
    " for ",
    ".",
    "You received ",
    " from ",
    "'",
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 200 }), (some) => {
      assert.ok(cpuMsOf(() => paidCentsOf(some.join("").slice(0, 500))) < 100);
    }),
  );
});

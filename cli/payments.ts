/** `tightbeam payments`: asking contacts for money, and what became of it. */

import { type Command, Option } from "commander";
import type { PaymentQuery } from "../sdk/payments.ts";
import { PAYMENT_STATUSES, type PaymentRequest } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import type { Column } from "./table.ts";
import { pair, seconds } from "./values.ts";

const COLUMNS: readonly Column<PaymentRequest>[] = [
  { title: "ID", value: (payment) => payment.id },
  { title: "STATUS", value: (payment) => payment.status, style: (payment) => statusStyle(payment.status) },
  { title: "AMOUNT", value: (payment) => `$${payment.amount}` },
  { title: "TO", value: (payment) => payment.to },
  { title: "CREATED", value: (payment) => payment.createdAt },
  { title: "NOTE", value: (payment) => payment.note },
];

interface RequestOptions {
  note?: string;
  from?: string;
  expiresIn?: number;
  callbackUrl?: string;
  metadata?: Record<string, string>;
  idempotencyKey?: string;
}

/** Adds `payments` and what is under it. */
export function addPayments(program: Command, cli: Cli): void {
  const payments = program
    .command("payments")
    .description("Ask contacts for money with Apple Cash, and see who paid.")
    .addHelpText(
      "after",
      examples({
        "tightbeam payments request +15005550112 25.00 --note Lunch": "somebody who pays at once",
        "tightbeam payments list --status pending": "what is still open",
        "tightbeam payments cancel <id>": "ask no longer",
      }),
    );
  addRequest(payments, cli);
  addPaging(
    payments
      .command("list")
      .description("List payment requests, the newest first.")
      .addOption(new Option("--status <status>", "only those in this status").choices(PAYMENT_STATUSES))
      .option("--from <date>", "only those made from this day or time on (ISO 8601)")
      .option("--to <date>", "only those made up to this day, that day included (ISO 8601)"),
  )
    .addHelpText("after", examples({ "tightbeam payments list --status paid --from 2031-05-01": "paid since then" }))
    .action((options: Paging & PaymentQuery) => {
      const { list, listAll } = cli.client("messages").payments;
      return showList(
        cli,
        { list, listAll, itemsOf: (page) => page.requests, columns: COLUMNS, empty: "No payment requests." },
        options,
      );
    });
  payments
    .command("get")
    .description("Show one payment request.")
    .argument("<id>", "payment request id (pay_…)")
    .addHelpText("after", examples({ "tightbeam payments get <id> | jq -r .status": "one field of it" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").payments.get(id), detail));
  payments
    .command("cancel")
    .description("Cancel a pending request; once it is paid, that is refused.")
    .argument("<id>", "payment request id (pay_…)")
    .addHelpText("after", examples({ "tightbeam payments list --status pending": "what can be cancelled" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").payments.cancel(id), detail));
}

function addRequest(payments: Command, cli: Cli): void {
  payments
    .command("request")
    .description("Ask a contact for money, by a message.")
    .argument("<to>", "phone number or iMessage e-mail address")
    .argument("<amount>", "US dollars, with two decimals at most: 25 or 25.00")
    .option("--note <text>", "what it is for")
    .option("--from <address>", "one of your numbers; by default the one that last wrote with them")
    .option("--expires-in <time>", "how long it can be paid, such as 90s, 2h or 30d (default: 30d)", seconds)
    .option("--callback-url <url>", "also send every event of this request there")
    .option("--metadata <key=value>", "given back in its events; may be repeated", pair)
    .option("--idempotency-key <key>", "the same key again asks for nothing twice")
    .addHelpText(
      "after",
      examples({
        "tightbeam payments request +15005550112 25.00 --note Lunch": "",
        "tightbeam payments request +15005550113 5 --expires-in 10s": "nobody pays: it expires",
        "tightbeam payments request +15005550112 25.00 | jq -r .id": "just the id",
      }),
    )
    // The amount stays text all the way: as a number it could not be exact.
    .action(async (to: string, amount: string, { expiresIn, idempotencyKey, ...given }: RequestOptions) => {
      const expires = expiresIn === undefined ? {} : { expiresInSeconds: expiresIn };
      const { payments: routes } = cli.client("messages");
      cli.output().show(await routes.request({ to, amount, ...given, ...expires }, { idempotencyKey }), detail);
    });
}

function detail(payment: PaymentRequest, paint: Paint): string {
  const { paidBy, metadata } = payment;
  return listing(
    {
      id: payment.id,
      status: payment.status,
      amount: `$${payment.amount}`,
      to: payment.to,
      from: payment.from,
      note: payment.note,
      messageId: payment.messageId,
      paidBy: paidBy === null ? null : `${paidBy.messageId} (${paidBy.evidence})`,
      reason: payment.reason,
      metadata: metadata === null ? null : JSON.stringify(metadata),
      expiresAt: payment.expiresAt,
      paidAt: payment.paidAt,
      cancelledAt: payment.cancelledAt,
    },
    paint,
  );
}

/** `tightbeam webhooks deliveries` and `retry`: the delivery log, and one attempt by hand. */

import { type Command, Option } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import type { DeliveryQuery } from "../sdk/webhooks.ts";
import { type Attempt, DELIVERY_STATUSES, type Delivery } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { Failure } from "./failure.ts";
import { listing, type Paint, statusStyle, type Terminal } from "./output.ts";
import { type Column, table } from "./table.ts";

interface ListOptions extends Paging {
  status?: NonNullable<DeliveryQuery["status"]>;
  webhook?: string;
  event?: string;
  message?: string;
}

const COLUMNS: readonly Column<Delivery>[] = [
  { title: "ID", value: (delivery) => delivery.id },
  { title: "STATUS", value: (delivery) => delivery.status, style: (delivery) => statusStyle(delivery.status) },
  { title: "EVENT", value: (delivery) => delivery.eventType },
  { title: "TRIES", value: (delivery) => delivery.attempts.length, optional: true },
  { title: "LAST", value: (delivery) => resultOf(delivery.attempts.at(-1)) },
  { title: "NEXT", value: (delivery) => delivery.nextAttemptAt, optional: true },
  { title: "URL", value: (delivery) => delivery.url },
];

/** Adds `deliveries` and `retry` under `webhooks`. */
export function addDeliveries(webhooks: Command, cli: Cli): void {
  addPaging(
    webhooks
      .command("deliveries")
      .description("List deliveries, the newest first; with an id, one with all its attempts.")
      .argument("[id]", "delivery id (dlv_…)")
      .addOption(new Option("--status <status>", "only those in this status").choices(DELIVERY_STATUSES))
      .option("--webhook <id>", "only those to this endpoint (wh_…)")
      .option("--event <id>", "only those of this event (evt_…)")
      .option("--message <id>", "only those about this message (msg_…)"),
  )
    .addHelpText(
      "after",
      examples({
        "tightbeam webhooks deliveries --status exhausted": "what never arrived",
        "tightbeam webhooks deliveries --message <id>": "who was told about one message",
        "tightbeam webhooks deliveries <id>": "what the receiver answered, each time",
      }),
    )
    .action((id: string | undefined, options: ListOptions) => (id === undefined ? list(cli, options) : show(cli, id)));
  webhooks
    .command("retry")
    .description("Make one extra attempt at a delivery now, and wait for what the receiver answers.")
    .argument("<id>", "delivery id (dlv_…)")
    .addHelpText("after", examples({ "tightbeam webhooks retry <id>": "its schedule stays as it is" }))
    .action(async (id: string) => {
      const { deliveries } = cli.client("messages").webhooks;
      const before = await deliveries.get(id);
      const asked = await deliveries.retry(id);
      showAttempt(cli, await untilAttempted(deliveries, cli.terminal, asked, before.attempts.length));
    });
}

async function list(cli: Cli, options: ListOptions): Promise<void> {
  const { list, listAll } = cli.client("messages").webhooks.deliveries;
  const { webhook, event, message, ...rest } = options;
  await showList(
    cli,
    { list, listAll, itemsOf: (page) => page.deliveries, columns: COLUMNS, empty: "No deliveries." },
    { ...rest, webhookId: webhook, eventId: event, messageId: message },
  );
}

async function show(cli: Cli, id: string): Promise<void> {
  cli.output().show(await cli.client("messages").webhooks.deliveries.get(id), detail);
}

/** An attempt ends within 31 s (30 s, and a second for the answer's body); this is a little more. */
const ATTEMPT_MS_MAX = 35_000;
const POLL_MS_FIRST = 50;
const POLL_MS_MAX = 2_000;

/** The delivery once it has more than `attempts` attempts, or as it is when none came in time. */
export async function untilAttempted(
  routes: Tightbeam["webhooks"]["deliveries"],
  terminal: Terminal,
  delivery: Delivery,
  attempts: number,
): Promise<Delivery> {
  const endAt = performance.now() + ATTEMPT_MS_MAX;
  let current = delivery;
  for (let pollMs = POLL_MS_FIRST; current.attempts.length <= attempts; pollMs = Math.min(pollMs * 2, POLL_MS_MAX)) {
    if (performance.now() > endAt) break;
    await terminal.sleep(pollMs);
    current = await routes.get(delivery.id);
  }
  return current;
}

/** Prints the delivery; throws `Failure` when its last attempt was not taken with a 2xx. */
export function showAttempt(cli: Cli, delivery: Delivery): void {
  cli.output().show(delivery, detail);
  const last = delivery.attempts.at(-1);
  if (last === undefined) throw new Failure("NOT_YET", `No attempt within ${ATTEMPT_MS_MAX / 1000} s.`);
  if (!isAccepted(last)) {
    const verb = last.status === null ? "gave no answer:" : "answered";
    throw new Failure("DELIVERY_FAILED", `${delivery.url} ${verb} ${resultOf(last)}.`);
  }
}

/** Whether the receiver took it: a 2xx, and nothing else. */
export function isAccepted(attempt: Pick<Attempt, "status"> | undefined): boolean {
  return typeof attempt?.status === "number" && attempt.status >= 200 && attempt.status <= 299;
}

/** The status of an answer, or why there was none; null before the first attempt. */
export function resultOf(attempt: Pick<Attempt, "status" | "error"> | undefined): string | null {
  if (attempt === undefined) return null;
  return attempt.status === null ? (attempt.error ?? "no answer") : String(attempt.status);
}

function detail(delivery: Delivery, paint: Paint, width: number): string {
  const facts = listing(
    {
      id: delivery.id,
      status: delivery.status,
      event: `${delivery.eventType} ${delivery.eventId}`,
      messageId: delivery.messageId,
      webhookId: delivery.webhookId,
      url: delivery.url,
      nextAttemptAt: delivery.nextAttemptAt,
    },
    paint,
  );
  const attempts = table(
    delivery.attempts,
    [
      { title: "AT", value: (attempt) => attempt.at },
      { title: "RESULT", value: resultOf, style: (attempt) => statusStyle(String(attempt.status ?? "failed")) },
      { title: "MS", value: (attempt) => attempt.durationMs },
      { title: "RESPONSE", value: (attempt) => attempt.response },
    ],
    paint,
    width,
    "No attempt yet.",
  );
  return `${facts}\n\n${attempts}`;
}

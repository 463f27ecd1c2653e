/** Deliveries of webhooks: `webhooks deliveries` and `webhooks retry`, and how an attempt is awaited and shown. */

import type { Tightbeam } from "../sdk/client.ts";
import { type Attempt, DELIVERY_STATUSES, type Delivery } from "../sdk/wire.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, list } from "./command.ts";
import { Failure } from "./failure.ts";
import { listing, type Paint, statusStyle, type Terminal } from "./output.ts";
import { table } from "./table.ts";

const deliveryList = list({
  name: "deliveries",
  help: "List deliveries, the newest first; with an id, show that one with its attempts.",
  arguments: { "[id]": "delivery id (dlv_…)" },
  options: {
    "--status <status>": { help: "only deliveries in this status", choices: DELIVERY_STATUSES },
    "--webhook <id>": { help: "only deliveries to this endpoint (wh_…)", as: "webhookId" },
    "--event <id>": { help: "only deliveries of this event (evt_…)", as: "eventId" },
    "--message <id>": { help: "only deliveries about this message (msg_…)", as: "messageId" },
  },
  examples: {
    "tightbeam webhooks deliveries --status exhausted": "what was never delivered",
    "tightbeam webhooks deliveries --message <id>": "every delivery about one message",
    "tightbeam webhooks deliveries <id>": "the receiver's response to each attempt",
  },
  pages: (client) => client.webhooks.deliveries,
  items: (page) => page.deliveries,
  columns: [
    { title: "ID", value: (delivery) => delivery.id },
    { title: "STATUS", value: (delivery) => delivery.status, style: (delivery) => statusStyle(delivery.status) },
    { title: "EVENT", value: (delivery) => delivery.eventType },
    { title: "TRIES", value: (delivery) => delivery.attempts.length, optional: true },
    { title: "LAST", value: (delivery) => resultOf(delivery.attempts.at(-1)) },
    { title: "NEXT", value: (delivery) => delivery.nextAttemptAt, optional: true },
    { title: "URL", value: (delivery) => delivery.url },
  ],
  empty: "No deliveries.",
});

/** The commands under `webhooks` about deliveries. */
export const deliveryCommands: readonly CommandRow[] = [
  {
    ...deliveryList,
    run: async (cli, id: string | undefined, ...options: never[]) => {
      if (id === undefined) return await deliveryList.run?.(cli, ...options);
      cli.output().show(await cli.client().webhooks.deliveries.get(id), detail);
    },
  },
  {
    name: "retry",
    help: "Make one extra attempt at a delivery now, and wait for the receiver's response.",
    arguments: { "<id>": "delivery id (dlv_…)" },
    examples: { "tightbeam webhooks retry <id>": "its schedule stays as it is" },
    run: async (cli, id: string) => {
      const { deliveries } = cli.client().webhooks;
      const before = await deliveries.get(id);
      const retried = await deliveries.retry(id);
      showAttempt(cli, await untilAttempted(deliveries, cli.terminal, retried, before.attempts.length));
    },
  },
];

/** An attempt ends within 31 s (30 s, and a second for the response's body); this is a little more. */
const ATTEMPT_MS_MAX = 35_000;
const POLL_MS_FIRST = 50;
const POLL_MS_MAX = 2_000;

/** The delivery once it has more than `attempts` attempts, or its state when the time is up. */
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

/** Prints the delivery. Throws `Failure` if its last attempt got no 2xx. */
export function showAttempt(cli: Cli, delivery: Delivery): void {
  cli.output().show(delivery, detail);
  const last = delivery.attempts.at(-1);
  if (last === undefined) throw new Failure("NOT_YET", `No attempt within ${ATTEMPT_MS_MAX / 1000} s.`);
  if (!isAccepted(last)) {
    const verb = last.status === null ? "gave no answer:" : "answered";
    throw new Failure("DELIVERY_FAILED", `${delivery.url} ${verb} ${resultOf(last)}.`);
  }
}

/** Whether the receiver accepted the event: only a 2xx does. */
export function isAccepted(attempt: Pick<Attempt, "status"> | undefined): boolean {
  return typeof attempt?.status === "number" && attempt.status >= 200 && attempt.status <= 299;
}

/** The status of the response, or why there was none; null before the first attempt. */
export function resultOf(attempt: Pick<Attempt, "status" | "error"> | undefined): string | null {
  if (attempt === undefined) return null;
  return attempt.status === null ? (attempt.error ?? "no answer") : String(attempt.status);
}

function detail(delivery: Delivery, paint: Paint, width: number): string {
  const { id, status, eventType, eventId, messageId, webhookId, url, nextAttemptAt } = delivery;
  const event = `${eventType} ${eventId}`;
  const facts = listing({ id, status, event, messageId, webhookId, url, nextAttemptAt }, paint);
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

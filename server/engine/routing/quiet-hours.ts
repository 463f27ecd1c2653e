/** Quiet hours of customers: postpones messages during them, sets them, and checks the postponed messages again when they change. */

import type { QuietHours } from "../../../sdk/wire.ts";
import { isGroupId } from "../../core/chat.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { endQuietHours, isInQuietHours, postponeForQuietHours } from "../../core/message-waiting.ts";
import { QUIET_MS_MAX, quietUntil } from "../../core/quiet-hours.ts";
import { zonesThatCount } from "../../core/time-zone.ts";
import { findChat } from "../../store/chats.ts";
import { listDeferred, type QueuePosition, type QueueWindow } from "../../store/messages.ts";
import { change } from "../commit.ts";
import { requireCustomer } from "../customers/require-customer.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { inPages } from "../in-pages.ts";
import { changeMessage, isAsClaimed } from "../messages/change-message.ts";
import { MessageGone } from "../messages/find.ts";

/** The end of the quiet hours that cover a message to `to` at an instant; null outside quiet hours. */
export async function quietFor(
  deps: With<"configCache">,
  { customerId, to }: Pick<Message, "customerId" | "to">,
  at: number,
): Promise<number | null> {
  const { quietHours } = await deps.configCache.customer(customerId);
  if (quietHours === null) return null;
  const addresses = await addressesOf(deps, customerId, to);
  const zones = addresses.flatMap((address) => zonesThatCount(address, quietHours.timeZone));
  return quietUntil(quietHours, [...new Set(zones)], at);
}

/** The addresses whose local time counts: the recipient, or everybody in a group. */
async function addressesOf(deps: Deps, customerId: CustomerId, to: string): Promise<readonly string[]> {
  if (!isGroupId(to)) return [to];
  const { participants = [] } = (await findChat(deps.store.db, customerId, to)) ?? {};
  return participants.length === 0 ? [to] : participants;
}

/**
 * Postpones a leased message during its recipient's quiet hours, unless the service itself answers it. Resolves, once the change is on disk, to whether it
 * was postponed.
 */
export async function waitsForQuietHours(
  deps: With<"configCache" | "messageCache">,
  message: Message,
): Promise<boolean> {
  if (message.origin === "service") return false;
  const now = deps.clock.now();
  const until = await quietFor(deps, message, now);
  if (until === null) return false;
  await changeMessage(deps, message, (fresh) =>
    isAsClaimed(fresh, message) && fresh.status === "queued"
      ? { message: postponeForQuietHours(fresh, until, now), events: [] }
      : null,
  );
  return true;
}

/** The quiet hours of a customer. Throws 404 for an unknown customer. */
export async function findQuietHours(deps: Deps, customerId: CustomerId): Promise<QuietHours | null> {
  return (await requireCustomer(deps, customerId)).quietHours;
}

/**
 * Sets or removes the quiet hours of a customer. The messages that they postponed are checked again: at once or, if there are
 * very many or the client has `gone`, after the response. Throws 404 for an unknown customer.
 */
export async function setQuietHours(
  deps: With<"configCache" | "messageCache">,
  customerId: CustomerId,
  quietHours: QuietHours | null,
  gone: AbortSignal,
): Promise<void> {
  await change(deps, async () => {
    const { id, version } = await requireCustomer(deps, customerId);
    const set = { quietHours, updatedAt: deps.clock.now() };
    return { transaction: [{ op: "update", table: "customers", id, version, set }], value: undefined };
  });
  deps.configCache.clear();
  await releaseAll(deps, customerId, gone);
}

/** Pages before the response: a very long queue would take longer than a caller waits. */
const PAGES_INLINE = 10;

/** Never throws: a message that cannot be checked again waits until the end of its former quiet hours. */
async function releaseAll(
  deps: With<"configCache" | "messageCache">,
  customerId: CustomerId,
  gone: AbortSignal,
): Promise<void> {
  const pages = heldBackPages(deps, customerId);
  await inPages(() => releaseNext(deps, pages), {
    pagesMax: PAGES_INLINE,
    gone,
    fault: (error) => deps.observer.fault("quiet-hours", error),
  });
}

/** Makes the messages of the next page due. Returns whether there was none. */
async function releaseNext(deps: With<"messageCache">, pages: AsyncGenerator<Message[]>): Promise<boolean> {
  const { done, value } = await pages.next();
  if (done === true) return true;
  const pairs = Map.groupBy(value, pairOf);
  await Promise.all([...pairs.values()].map((pair) => releaseInOrder(deps, pair)));
  return false;
}

/** Messages of a customer that quiet hours postponed, a page at a time. */
async function* heldBackPages(deps: With<"configCache">, customerId: CustomerId): AsyncGenerator<Message[]> {
  const from = deps.clock.now();
  const span = { from, until: from + QUIET_MS_MAX };
  for (const { id: instanceId } of await deps.configCache.instances()) {
    yield* heldBackOn(deps, { customerId, instanceId }, span);
  }
}

async function* heldBackOn(
  { store }: Deps,
  lane: { customerId: CustomerId; instanceId: InstanceId },
  span: { from: number; until: number },
): AsyncGenerator<Message[]> {
  let after: QueuePosition | null = null;
  do {
    const window: QueueWindow<Message> = await listDeferred(store.db, lane, span, after);
    after = window.next;
    yield window.records.filter(isInQuietHours);
  } while (after !== null);
}

/** Handles messages from one number to one recipient in sequence. */
async function releaseInOrder(deps: With<"messageCache">, messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    try {
      await changeMessage(deps, message, (fresh) => {
        const again = endQuietHours(fresh, deps.clock.now());
        return again === null ? null : { message: again, events: [] };
      });
    } catch (error) {
      if (!(error instanceof MessageGone)) throw error;
    }
  }
}

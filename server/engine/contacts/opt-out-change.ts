/** The operations that change an opt-out list, with the events that tell of them. */

import type { OptOutEventData, OptOutSettings } from "../../../sdk/wire.ts";
import { makeEvent } from "../../core/event.ts";
import { type CustomerId, newCorrelationId } from "../../core/id.ts";
import type { OptOut } from "../../core/opt-out.ts";
import { DEFAULT_OPT_OUT_SETTINGS } from "../../core/opt-out-settings.ts";
import { formsOf } from "../../core/phone-forms.ts";
import { findOptOuts, hasOptOut, type OptOutPair } from "../../store/opt-outs.ts";
import type { Operation } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";

/** A contact, and the number that it wrote to or that the request names. */
export interface OptOutPlace {
  customerId: CustomerId;
  number: string;
  contact: string;
}

/** The cause of a change, for its event. */
export interface OptOutCause extends Pick<OptOutEventData, "source" | "keyword" | "reason" | "channel"> {
  /** That of the message that led to it; by default that of the request, or a new one. */
  correlationId?: string;
}

/** The place, with every form of the contact's address. */
export function pairAt({ customerId, number, contact }: OptOutPlace): OptOutPair {
  return { customerId, number, contacts: formsOf(contact) };
}

/** The settings of a customer's opt-outs. */
export async function optOutSettings(deps: With<"configCache">, customerId: CustomerId): Promise<OptOutSettings> {
  return (await deps.configCache.customer(customerId)).optOuts ?? DEFAULT_OPT_OUT_SETTINGS;
}

/**
 * The opt-out that holds for a place, or a new one with the operations that store it. Both conflict if another transaction is first: decide
 * again. An opt-out that an earlier customer of the number left is no reason against one of this customer.
 */
export async function optOutOperations(
  deps: With<"configCache">,
  place: OptOutPlace,
  cause: OptOutCause,
): Promise<{ record: OptOut | null; operations: Operation[] }> {
  const { customerId, number, contact } = place;
  const pair = pairAt(place);
  const held = await findOptOuts(deps.store.db, pair);
  const own = held.find((one) => one.customerId === customerId);
  if (own !== undefined) return { record: own, operations: [] };
  // A record that cannot be decoded holds all the same.
  if (held.length === 0 && (await hasOptOut(deps.store.db, pair))) return { record: null, operations: [] };
  const { scope } = await optOutSettings(deps, customerId);
  const { source, keyword } = cause;
  const record: OptOut = { customerId, number, contact, scope, source, keyword, createdAt: deps.clock.now() };
  const others = held.filter((one) => one.number === number && one.contact === contact);
  const operations: Operation[] = [
    ...pair.contacts.flatMap((form): Operation[] => [
      requireNone(customerId, { customerId, number, contact: form }),
      requireNone(customerId, { customerId, contact: form, scope: "customer" }),
    ]),
    ...(await Promise.all(others.map((one) => handedOver(deps, one, customerId)))).flat(),
    { op: "put", table: "optOuts", record },
    eventOf(deps, "contact.opted_out", customerId, record, cause),
  ];
  return { record, operations };
}

/**
 * The opt-outs that hold for a place, and the operations that end them, with an event for each. They conflict if another transaction is
 * first: decide again.
 */
export async function optInOperations(
  deps: With<"configCache">,
  place: OptOutPlace,
  cause: OptOutCause,
): Promise<{ ended: OptOut[]; operations: Operation[] }> {
  const { customerId } = place;
  const ended = await findOptOuts(deps.store.db, pairAt(place));
  const operations = await Promise.all(
    ended.map(async (one): Promise<Operation[]> => {
      const { customerId: owner, number, contact } = one;
      const where = { customerId: owner, number, contact };
      return [
        ...(owner === customerId ? [] : await handedOver(deps, one, customerId)),
        { op: "require", table: "optOuts", where, scope: customerId },
        { op: "delete", table: "optOuts", where },
        eventOf(deps, "contact.opted_in", customerId, one, cause),
      ];
    }),
  );
  return { ended, operations: operations.flat() };
}

function requireNone(scope: CustomerId, where: Partial<OptOut>): Operation {
  return { op: "requireNone", table: "optOuts", where, scope };
}

/**
 * Keeps an opt-out of another customer for that customer's numbers, if it holds for all of them: its own number has another owner now, who
 * ends or replaces it there.
 */
async function handedOver(deps: With<"configCache">, optOut: OptOut, scope: CustomerId): Promise<Operation[]> {
  const { customerId, number, contact } = optOut;
  const kept: Operation[] = [{ op: "require", table: "optOuts", where: { customerId, number, contact }, scope }];
  if (optOut.scope !== "customer") return kept;
  const left = (await deps.configCache.numbers(customerId)).find(({ address }) => address !== number);
  if (left === undefined) return kept;
  return [...kept, { op: "put", table: "optOuts", record: { ...optOut, number: left.address } }];
}

function eventOf(
  deps: Deps,
  type: "contact.opted_out" | "contact.opted_in",
  customerId: CustomerId,
  { contact, number, scope }: OptOut,
  {
    keyword,
    source,
    reason,
    channel,
    correlationId = deps.correlationId ?? newCorrelationId(deps.random),
  }: OptOutCause,
): Operation {
  const data: OptOutEventData = { contact, number, scope, keyword, source, reason, channel };
  const envelope = { messageId: null, sequence: 0, correlationId, createdAt: deps.clock.now() };
  const event = makeEvent({ id: deps.newId("evt"), customerId, type, ...envelope }, data);
  return { op: "event", event, callbackUrl: null };
}

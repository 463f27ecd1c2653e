/** Creates groups: at the provider first, then the chat. */

import type { CreateGroup, ErrorDetail } from "../../../sdk/wire.ts";
import { boundName } from "../../core/bound-names.ts";
import { type Chat, groupKey } from "../../core/chat.ts";
import { ApiError } from "../../core/error.ts";
import type { ChatId, CustomerId } from "../../core/id.ts";
import type { CustomerNumber } from "../../core/number.ts";
import { parseAddress } from "../../core/phone.ts";
import { isSamePhone, peopleKey, phoneKey } from "../../core/phone-forms.ts";
import { capabilitiesOf } from "../../providers/registry.ts";
import { findChat, findChatByKey, findGroupOfPeople } from "../../store/chats.ts";
import { recordAction, runAction, runInTurn } from "../action.ts";
import type { Decision } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { checkKnownRecipient, chooseNumber, offeredBy } from "../messages/recipient.ts";
import { refuseOptedOut } from "./change-group.ts";
import type { ChatActionResult } from "./chat-action.ts";
import { changedChat, newGroup } from "./groups.ts";
import { duplicateThread, retryDuplicateThread } from "./threads.ts";

/** A request to create a group, with its customer. */
export interface GroupRequest {
  customerId: CustomerId;
  idempotencyKey: string | null;
  body: CreateGroup;
}

/** The group to create. */
interface NewGroup {
  customerId: CustomerId;
  number: CustomerNumber;
  name: string | null;
  participants: string[];
}

/**
 * Creates a group and returns its chat; `repeated` if its idempotency key was used before, or if the phone allows only one
 * group with these members and it exists, which is then unchanged. Throws 400
 * `GROUP_SMS_UNSUPPORTED` for a number without iMessage, and the refusals about addresses.
 */
export async function createGroup(
  deps: With<"configCache" | "optOutCache" | "providers">,
  making: GroupRequest,
): Promise<ChatActionResult> {
  const { customerId, idempotencyKey: key } = making;
  const { idempotencyKey: _, ...body } = making.body;
  // A repeat may name another form of a phone.
  const compared = { ...body, participants: body.participants.map(phoneKey) };
  let made: { wanted: NewGroup; reference: string | null } | null = null;
  let isThere = false;
  const record = () =>
    idempotent(
      deps,
      { key, customerId, route: "POST /v1/chats/groups", body: compared },
      async () => {
        if (made === null) {
          const wanted = await check(deps, customerId, body);
          const existing = await findSame(deps, wanted);
          isThere = existing !== null;
          if (existing !== null) return { transaction: null, value: existing, result: existing.id };
          made = await makeAtProvider(deps, wanted);
        }
        return await arrange(deps, made.wanted, made.reference);
      },
      duplicateThread,
    );
  // Two concurrent requests with the same key or the same members call the provider once.
  const subjects = [`groups ${key ?? deps.newId("req")}`, `groups ${peopleOf(body)}`];
  const work = () =>
    recordAction(
      deps,
      () => retryDuplicateThread(record),
      () => made !== null,
    );
  const [byKey = "", byPeople = ""] = subjects;
  const result = await runInTurn(deps, { customerId, id: byKey }, () =>
    runInTurn(deps, { customerId, id: byPeople }, work),
  );
  if (!result.repeated) return { repeated: isThere, chat: result.value };
  const first = await findChat(deps.store.db, customerId, result.firstResult);
  if (first === null) throw new Error(`${result.firstResult} is gone`);
  return { repeated: true, chat: first };
}

async function check(
  deps: With<"configCache" | "optOutCache" | "providers">,
  customerId: CustomerId,
  body: CreateGroup,
): Promise<NewGroup> {
  const number = chooseNumber(await deps.configCache.numbers(customerId), body.from);
  const participants = await checkParticipants(deps, number, body.participants);
  if (!offeredBy(deps, number).includes("imessage")) {
    throw new ApiError(
      "GROUP_SMS_UNSUPPORTED",
      `${number.address} has no iMessage, and groups are not made over SMS; write to each of them instead.`,
    );
  }
  for (const [index, participant] of participants.entries()) {
    const place = { customerId, number: number.address, contact: participant };
    await refuseOptedOut(deps, place, `participants[${index}]`);
  }
  return { customerId, number, name: body.name ?? null, participants };
}

/** The existing group with these members, if the phone allows only one; otherwise null. */
async function findSame(deps: With<"providers">, { customerId, number, participants }: NewGroup): Promise<Chat | null> {
  const { address: from, instanceId } = number;
  const provider = deps.providers.get(instanceId);
  const capabilities = provider?.capabilities ?? capabilitiesOf(number.provider);
  if (capabilities.mergesGroups !== true) return null;
  return findGroupOfPeople(deps.store.db, { customerId, from, instanceId }, participants);
}

function peopleOf({ participants }: CreateGroup): string {
  return peopleKey(participants.map((text) => parseAddress(text)?.address ?? text));
}

/** The addresses of all members. Throws a 400 that names each invalid address, each duplicate, and the number itself. */
async function checkParticipants(deps: Deps, number: CustomerNumber, given: readonly string[]): Promise<string[]> {
  const checked = await Promise.all(given.map((text) => checkKnownRecipient(deps, number.customerId, text)));
  const phones = checked.map(({ address }) => (address === null ? null : phoneKey(address)));
  const bad: ErrorDetail[] = [];
  const odd: ErrorDetail[] = [];
  for (const [index, { address, problem }] of checked.entries()) {
    const path = `participants[${index}]`;
    const first = phones.indexOf(phones[index] ?? null);
    if (address === null) bad.push({ path, message: problem });
    else if (isSamePhone(address, number.address))
      odd.push({ path, message: "is your own number, which is in the group anyway" });
    else if (first !== index) odd.push({ path, message: `is there already, as participants[${first}]` });
  }
  const details = [...bad, ...odd];
  const [problem] = details;
  if (problem === undefined) return checked.flatMap(({ address }) => address ?? []);
  const code = bad.length > 0 ? "INVALID_PHONE_NUMBER" : "VALIDATION_ERROR";
  throw new ApiError(code, `${problem.path}: ${problem.message}.`, { details });
}

/** Creates the group at the provider. `reference` null: the provider names the group with its first message. */
async function makeAtProvider(deps: With<"providers">, wanted: NewGroup) {
  const { customerId, number, name, participants } = wanted;
  const group = { customerId, from: number.address, name, participants };
  const made = await runAction(deps, number.instanceId, "createGroup", (create, abort) => create(group, abort));
  if (!made.done) throw new ApiError("PROVIDER_ERROR", `The provider did not make the group: ${made.reason}.`);
  return { wanted, reference: made.reference === null ? null : boundName(made.reference) };
}

async function arrange(
  deps: Deps,
  { customerId, number, name, participants }: NewGroup,
  reference: string | null,
): Promise<Decision<Chat> & { result: ChatId }> {
  const { address: from, instanceId } = number;
  const known = reference === null ? null : await findChatByKey(deps.store.db, groupKey(customerId, from, reference));
  if (known !== null) {
    // The provider's own signal about this group came first.
    const { transaction, value } = changedChat(known, { ...known, name, participants });
    return { transaction: transaction.length === 0 ? null : transaction, value, result: known.id };
  }
  const chat = newGroup(deps, { customerId, from, channel: "imessage", instanceId, reference, name, participants });
  return { transaction: [{ op: "insertUnique", table: "chats", record: chat }], value: chat, result: chat.id };
}

/** The provider suite: each action is done, refused with a reason, or ended by its abort signal. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Channel } from "../../sdk/wire.ts";
import type { ChatId } from "../../server/core/id.ts";
import type { Actions, ActionTarget, Conversation, Outbound, ReceiptSignal } from "../../server/providers/provider.ts";
import { able } from "./provider-people.ts";
import {
  acceptedReference,
  have,
  LIMIT_MS,
  type Life,
  NEVER_ABORTED,
  type Promises,
  quiet,
  run,
  type Stage,
  send,
} from "./provider-stage.ts";

const CHAT_ID = "chat_00000000-0000-7000-8000-000000000001";
const GROUP_ID = "chat_00000000-0000-7000-8000-000000000002";
const MEMBERS = ["+15550100021", "+15550100022", "+15550100023"];
const NEWCOMER = "+15550100024";
const MADE_UP_FILE = "no-such-file";

/** The subjects of actions: an accepted message, its thread, and a group. */
interface Subjects {
  target: ActionTarget;
  chat: Conversation;
  group: Conversation | null;
  message: Outbound;
}

type Act = (actions: Partial<Actions>, subjects: Subjects, abort: AbortSignal) => Promise<unknown> | undefined;

/** Calls each action; null if it needs a group and the provider creates none. */
const ACTS: Readonly<Record<keyof Actions, Act>> = {
  react: (actions, { target }, abort) => actions.react?.(target, "love", abort),
  edit: (actions, { target }, abort) => actions.edit?.(target, "Hello again", "Edited to Hello again", abort),
  unsend: (actions, { target }, abort) => actions.unsend?.(target, abort),
  markRead: (actions, { chat }, abort) => actions.markRead?.(chat, abort),
  markUnread: (actions, { chat }, abort) => actions.markUnread?.(chat, abort),
  setTyping: (actions, { chat }, abort) => actions.setTyping?.(chat, true, abort),
  createGroup: (actions, { message: { customerId, from } }, abort) =>
    actions.createGroup?.({ customerId, from, name: "The trip", participants: MEMBERS }, abort),
  renameGroup: (actions, { group }, abort) =>
    group === null ? undefined : actions.renameGroup?.(group, "The voyage", abort),
  addParticipant: (actions, { group }, abort) =>
    group === null ? undefined : actions.addParticipant?.(group, NEWCOMER, abort),
  removeParticipant: (actions, { group }, abort) =>
    group === null ? undefined : actions.removeParticipant?.(group, MEMBERS[2] ?? "", abort),
  leaveGroup: (actions, { group }, abort) => (group === null ? undefined : actions.leaveGroup?.(group, abort)),
  availability: (actions, { message: { customerId, to } }, abort) => actions.availability?.(customerId, to, abort),
  focus: (actions, { message: { customerId, to } }, abort) => actions.focus?.(customerId, to, abort),
  fetch: (actions, _subjects, abort) => actions.fetch?.(MADE_UP_FILE, abort),
};

const NAMES = Object.keys(ACTS) as (keyof Actions)[];
/** Actions that return a finding instead of `done`. */
const QUESTIONS: readonly string[] = ["availability", "focus", "fetch"];

export function actions(promise: Promises): void {
  promise("each action is done", (stage, t) =>
    forEach(stage, t, async (name, act) => {
      const answer = await run(stage, act(NEVER_ABORTED));
      if (name === "availability") {
        const { imessage, facetime } = answer as Record<"imessage" | "facetime", unknown>;
        for (const value of [imessage, facetime]) assert.ok(value === null || typeof value === "boolean");
      } else if (name === "focus") {
        assert.equal(typeof (answer as { focused: unknown }).focused, "boolean");
      } else if (name === "fetch") {
        assert.equal(answer, null, "there is no such file");
      } else {
        assert.equal((answer as { done: boolean }).done, true, JSON.stringify(answer));
      }
    }),
  );

  promise("each action that the peer refuses is refused, with a reason", async (stage, t) => {
    const refuses = able(stage, "refuses", t);
    if (refuses === null) return;
    await forEach(stage, t, async (name, act) => {
      const end = refuses();
      const answer = await run(stage, refusalOf(act(NEVER_ABORTED)));
      await end();
      if (answer === null) return;
      if (QUESTIONS.includes(name)) return assert.ok(!Object.values(answer).includes(true), "it made something up");
      const { done, reason, reference } = answer as { done: boolean; reason?: string; reference?: string | null };
      // A group that is created with its first message is not requested from the peer before.
      if (done && reference === null) return;
      assert.equal(done, false);
      assert.match(reason ?? "", /./);
    });
  });

  promise("each action that the peer never answers ends when it is aborted", async (stage, t) => {
    const hangs = able(stage, "hangs", t);
    if (hangs === null) return;
    await forEach(stage, t, async (_name, act) => {
      const end = hangs();
      const abort = new AbortController();
      let ended = false;
      const acting = refusalOf(act(abort.signal)).finally(() => {
        ended = true;
      });
      await quiet(stage.harness);
      abort.abort();
      assert.ok(await stage.harness.advanceUntil(() => ended, GIVEN_UP_MS), "it went on after it was given up");
      await end();
      await acting;
    });
  });
}

/** How long an action may take to notice that it was aborted. */
const GIVEN_UP_MS = 6_000;

/** Runs a test for each action of the provider, each with a provider and subjects of its own. */
async function forEach(
  stage: Stage,
  t: TestContext,
  hold: (name: keyof Actions, act: (abort: AbortSignal) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const scenario = have(stage.harness.scenarios.delivers, t);
  if (scenario === null) return;
  const first = await stage.live();
  const given = NAMES.filter((name) => first.provider.actions?.[name] !== undefined);
  await run(stage, first.provider.stop());
  if (given.length === 0) return t.skip("the provider has no actions");
  for (const name of given) {
    await t.test(name, async (nested) => {
      const life = await stage.live();
      const act = await actOf(stage, life, name, scenario);
      if (act === null) nested.skip("the provider makes no groups");
      else await hold(name, act);
      await run(stage, life.provider.stop());
    });
  }
}

/** The result of an action; null if it threw, which counts as a refusal. */
async function refusalOf(work: Promise<unknown>): Promise<object | null> {
  try {
    return ((await work) ?? null) as object | null;
  } catch {
    return null;
  }
}

async function actOf(
  stage: Stage,
  life: Life,
  name: keyof Actions,
  to: { to: string; channel: Channel; receipts: readonly ReceiptSignal["receipt"][] },
): Promise<((abort: AbortSignal) => Promise<unknown>) | null> {
  const given = life.provider.actions ?? {};
  const message = stage.message(to);
  const reference = acceptedReference(await send(stage, life, message));
  await stage.expectReceipts(life, message, to.receipts);
  const chat = conversation(message, CHAT_ID, { contact: message.to, participants: [message.to] });
  const isAboutGroup = ["renameGroup", "addParticipant", "removeParticipant", "leaveGroup"].includes(name);
  const group = isAboutGroup ? await makeGroup(stage, life, message) : null;
  if (isAboutGroup && group === null) return null;
  const target = { messageId: message.messageId, reference, text: message.text, chat };
  return (abort) => ACTS[name](given, { target, chat, group, message }, abort) ?? Promise.resolve();
}

/** A group that exists at the peer. If the provider creates groups with their first message, that message was sent. */
async function makeGroup(stage: Stage, life: Life, message: Outbound): Promise<Conversation | null> {
  const { customerId, from } = message;
  const wanted = { customerId, from, name: "The trip", participants: MEMBERS };
  const making = life.provider.actions?.createGroup?.(wanted, NEVER_ABORTED);
  if (making === undefined) return null;
  const made = await run(stage, making);
  assert.ok(made.done);
  const group = conversation(message, GROUP_ID, { reference: made.reference, participants: MEMBERS });
  if (made.reference !== null) return group;
  acceptedReference(await send(stage, life, { ...stage.message(message), group, to: GROUP_ID }));
  const named = () =>
    life.otherSignals.flatMap((signal) => ("group" in signal ? [signal.group?.reference ?? null] : []))[0];
  await stage.harness.advanceUntil(() => named() !== undefined, LIMIT_MS);
  return { ...group, reference: named() ?? null };
}

function conversation(
  { customerId, from, channel }: Outbound,
  chatId: ChatId,
  more: Pick<Conversation, "participants"> & Partial<Conversation>,
): Conversation {
  return { chatId, customerId, from, channel, contact: null, reference: null, ...more };
}

/** The provider's suite: each command that it has is done, or refused in words, or given up when it is told to. */

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

/** What commands are given: a message that was accepted, the thread it is in, and a group. */
interface Subjects {
  target: ActionTarget;
  chat: Conversation;
  group: Conversation | null;
  message: Outbound;
}

type Act = (commands: Partial<Actions>, subjects: Subjects, abort: AbortSignal) => Promise<unknown> | undefined;

/** Each command, as the suite gives it; null where it is about a group and the provider makes none. */
const ACTS: Readonly<Record<keyof Actions, Act>> = {
  react: (commands, { target }, abort) => commands.react?.(target, "love", abort),
  edit: (commands, { target }, abort) => commands.edit?.(target, "Hello again", "Edited to Hello again", abort),
  unsend: (commands, { target }, abort) => commands.unsend?.(target, abort),
  markRead: (commands, { chat }, abort) => commands.markRead?.(chat, abort),
  markUnread: (commands, { chat }, abort) => commands.markUnread?.(chat, abort),
  setTyping: (commands, { chat }, abort) => commands.setTyping?.(chat, true, abort),
  createGroup: (commands, { message: { customerId, from } }, abort) =>
    commands.createGroup?.({ customerId, from, name: "The trip", participants: MEMBERS }, abort),
  renameGroup: (commands, { group }, abort) =>
    group === null ? undefined : commands.renameGroup?.(group, "The voyage", abort),
  addParticipant: (commands, { group }, abort) =>
    group === null ? undefined : commands.addParticipant?.(group, NEWCOMER, abort),
  removeParticipant: (commands, { group }, abort) =>
    group === null ? undefined : commands.removeParticipant?.(group, MEMBERS[2] ?? "", abort),
  leaveGroup: (commands, { group }, abort) => (group === null ? undefined : commands.leaveGroup?.(group, abort)),
  availability: (commands, { message: { customerId, to } }, abort) => commands.availability?.(customerId, to, abort),
  focus: (commands, { message: { customerId, to } }, abort) => commands.focus?.(customerId, to, abort),
  fetch: (commands, _subjects, abort) => commands.fetch?.(MADE_UP_FILE, abort),
};

const NAMES = Object.keys(ACTS) as (keyof Actions)[];
/** Those that answer with what they found, not whether they were done. */
const QUESTIONS: readonly string[] = ["availability", "focus", "fetch"];

export function commands(promise: Promises): void {
  promise("each command that it has is done", (stage, t) =>
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

  promise("each command that the peer refuses is refused, in words", async (stage, t) => {
    const refuses = able(stage, "refuses", t);
    if (refuses === null) return;
    await forEach(stage, t, async (name, act) => {
      const end = refuses();
      const answer = await run(stage, refusalOf(act(NEVER_ABORTED)));
      await end();
      if (answer === null) return;
      if (QUESTIONS.includes(name)) return assert.ok(!Object.values(answer).includes(true), "it made something up");
      const { done, reason, reference } = answer as { done: boolean; reason?: string; reference?: string | null };
      // A group that comes to be with its first message is asked of nobody before.
      if (done && reference === null) return;
      assert.equal(done, false);
      assert.match(reason ?? "", /./);
    });
  });

  promise("each command that the peer never answers ends when it is given up", async (stage, t) => {
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

/** How long a command may take to notice that it was given up. */
const GIVEN_UP_MS = 6_000;

/** Holds a test with each command that the provider has, each on a provider and subjects of its own. */
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
  if (given.length === 0) return t.skip("the provider has no commands");
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

/** What a command answered; null when it threw, which is a refusal as well. */
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
  await stage.toldInTheEnd(life, message, to.receipts);
  const chat = conversation(message, CHAT_ID, { contact: message.to, participants: [message.to] });
  const isAboutGroup = ["renameGroup", "addParticipant", "removeParticipant", "leaveGroup"].includes(name);
  const group = isAboutGroup ? await makeGroup(stage, life, message) : null;
  if (isAboutGroup && group === null) return null;
  const target = { messageId: message.messageId, reference, text: message.text, chat };
  return (abort) => ACTS[name](given, { target, chat, group, message }, abort) ?? Promise.resolve();
}

/** A group that is there: the provider made it, and where it comes to be with its first message, that was sent. */
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
  const named = () => life.heard.flatMap((signal) => ("group" in signal ? [signal.group?.reference ?? null] : []))[0];
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

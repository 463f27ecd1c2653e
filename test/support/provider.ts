/** A provider that a test scripts: it returns the given outcomes and records sends, lookups and actions. No network. */

import { chosenWords, DEFAULT_OPT_OUT_SETTINGS } from "../../server/core/opt-out-settings.ts";
import type {
  ActionResult,
  Actions,
  Availability,
  Capabilities,
  FocusState,
  Health,
  InboundSignal,
  NotAccepted,
  Outbound,
  Outcome,
  OutcomeMemory,
  Provider,
  ProviderContext,
  ReceiptSignal,
  Signal,
} from "../../server/providers/provider.ts";
import { ABSENT, AttemptsKept, attemptsIn, withoutNotes } from "./attempts.ts";

/** The result of one send attempt: an outcome, at once or when the test resolves it, or no response ever. */
export type SendAnswer = Outcome | Promise<Outcome> | "throws" | "never";
/** The result of reconciling an attempt. */
export type SettleAnswer = Outcome | "absent" | Promise<Outcome | "absent"> | "throws" | "never";

/** The result of an action: a response, at once or when the test resolves it, or no response ever. */
export type ScriptedActionResult = ActionValue | Promise<ActionValue> | "throws" | "never";
type ActionValue = Awaited<ReturnType<Actions[keyof Actions]>>;

/** A call of an action: its name, and its parameters without the abort signal. */
export interface ScriptedActionCall {
  name: keyof Actions;
  given: readonly unknown[];
}

const DONE: ActionResult = { done: true };
const ACTION_VALUES: Readonly<Record<keyof Actions, ActionValue>> = {
  react: DONE,
  edit: DONE,
  unsend: DONE,
  markRead: DONE,
  markUnread: DONE,
  setTyping: DONE,
  createGroup: { done: true, reference: "group-1" },
  renameGroup: DONE,
  addParticipant: DONE,
  removeParticipant: DONE,
  leaveGroup: DONE,
  availability: { imessage: true, facetime: true } satisfies Availability,
  focus: { focused: false } satisfies FocusState,
  fetch: null,
};

/** Time before the first lookup of an unknown outcome. */
export const SETTLE_AFTER_MS = 2_000;

/** By default accepts every message, with the references `ref-1`, `ref-2` and so on. */
export class ScriptedProvider implements Provider {
  readonly name = "scripted";
  readonly capabilities: Capabilities;
  /** Whether it can send; a test that changes this reports it to the engine, as a provider does. */
  isUp = true;
  /** Every message of a send attempt, repeats included. */
  readonly handed: Outbound[] = [];
  /** Every message that was reconciled. */
  readonly asked: Outbound[] = [];
  /** Every call of an action, in order. */
  readonly actionCalls: ScriptedActionCall[] = [];
  /** Abort signals of the attempts, in their order. */
  readonly aborts: AbortSignal[] = [];
  /** Results of the next attempts and lookups; then `send` and `ask` decide. */
  readonly sendNext: SendAnswer[] = [];
  readonly settleNext: SettleAnswer[] = [];
  /** Decides the outcome of an attempt without a set result. */
  onSend: (message: Outbound) => SendAnswer = () => this.accepted();
  onSettle: (message: Outbound) => SettleAnswer = () => ({ outcome: "unknown", reason: "nobody knows" });
  reconcile?: (message: Outbound) => Promise<Outcome | "absent">;
  /** Decides the result of an action; by default every action is done. */
  onAction: (call: ScriptedActionCall) => ScriptedActionResult = ({ name }) => ACTION_VALUES[name];
  /** Every action; a test may set fewer. */
  actions: Partial<Actions> = Object.fromEntries(
    (Object.keys(ACTION_VALUES) as (keyof Actions)[]).map((name) => [
      name,
      (...given: unknown[]) => {
        const call = { name, given: given.slice(0, -1) };
        this.actionCalls.push(call);
        return play(this.onAction(call));
      },
    ]),
  );
  #references = 0;

  /** `asks`: whether it supports reconciliation. */
  constructor({ asks = true, ...capabilities }: { asks?: boolean } & Partial<Capabilities> = {}) {
    const ordinary = { concurrency: 64, sendTimeoutMs: 40_000, reconcileAfterMs: SETTLE_AFTER_MS, seesPayments: true };
    this.capabilities = { channels: ["imessage", "sms"], smsFiles: "all", ...ordinary, ...capabilities };
    if (asks) this.reconcile = (message) => this.#ask(message);
  }

  /** An accepted outcome with the next reference. */
  accepted(): Outcome {
    this.#references += 1;
    return { outcome: "accepted", reference: `ref-${this.#references}` };
  }

  async start(): Promise<void> {}

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    this.handed.push(message);
    this.aborts.push(abort);
    return play(this.sendNext.shift() ?? this.onSend(message));
  }

  async health(): Promise<Health> {
    return { status: "healthy" };
  }

  async stop(): Promise<void> {}

  async #ask(message: Outbound): Promise<Outcome | "absent"> {
    this.asked.push(message);
    return play(this.settleNext.shift() ?? this.onSettle(message));
  }
}

function play<Answer>(answer: Answer | Promise<Answer> | "throws" | "never"): Promise<Answer> {
  if (answer === "throws") return Promise.reject(new Error("the provider broke"));
  if (answer === "never") return new Promise(() => {});
  return Promise.resolve(answer as Answer | Promise<Answer>);
}

/**
 * The provider with what it remembers of its outcomes stored by `store`, as the engine commits it: entries of the memory, and
 * `conclude`, which keeps the attempt in `attempts`. A failure makes the outcome unknown.
 */
export function remembering<Remembered extends Provider>(
  provider: Remembered,
  store: (entries: OutcomeMemory["entries"], conclude: () => void) => Promise<void>,
  attempts = new AttemptsKept(),
): Remembered {
  const keep = async (message: Outbound, outcome: Outcome): Promise<Outcome> => {
    const { memory = null, note = null, part = null } = { memory: null, note: null, part: null, ...outcome };
    const { memory: _memory, ...rest } = { memory: null, ...withoutNotes(outcome) };
    if (memory === null && note === null && part === null) {
      attempts.conclude(message, outcome);
      return outcome;
    }
    try {
      await store(memory?.entries ?? [], () => attempts.conclude(message, outcome));
    } catch {
      return { outcome: "unknown", reason: "its outcome could not be stored" };
    }
    memory?.stored();
    return rest as Outcome;
  };
  const own: Pick<Provider, "send" | "reconcile"> = {
    send: async (message, abort) => {
      attempts.begin(message);
      return keep(message, await provider.send(message, abort));
    },
  };
  const reconcile = provider.reconcile?.bind(provider);
  if (reconcile !== undefined) {
    own.reconcile = async (message) => {
      attempts.begin(message);
      const outcome = await reconcile(message);
      if (outcome === "absent") attempts.conclude(message, ABSENT);
      return outcome === "absent" ? outcome : keep(message, outcome);
    };
  }
  return new Proxy(provider, {
    get(target, name) {
      const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : target, name);
      return typeof value === "function" ? value.bind(Object.hasOwn(own, name) ? own : target) : value;
    },
  });
}

/** The context of a test's instance, beside its clock and memory: no number, no reachable hook. */
export function providerContext(
  given: Pick<ProviderContext, "clock" | "memory"> & Partial<ProviderContext>,
): ProviderContext {
  return {
    instanceId: "inst_test",
    attempts: attemptsIn(new AttemptsKept()),
    config: {},
    hookUrl: () => "http://127.0.0.1:9/hooks/inst_test/token",
    numbers: async () => [],
    senders: async () => [],
    isNumber: async () => true,
    optOutWordsAt: async () => chosenWords(DEFAULT_OPT_OUT_SETTINGS),
    findSent: async () => null,
    mayWrite: () => true,
    changed() {},
    eventReceived() {},
    fault() {},
    ...given,
  };
}

/** Refused for good. */
export const REJECTED: NotAccepted = { outcome: "rejected", code: "E42", reason: "not wanted" };
/** The recipient is not on the channel. */
export const NOT_REACHABLE: NotAccepted = {
  outcome: "rejected",
  code: "E404",
  reason: "not there",
  notReachable: true,
};
/** It may have been sent. */
export const UNKNOWN: NotAccepted = { outcome: "unknown", reason: "the line went dead" };

/** The text is sent under `ref-text`, and the rest came to `rest`. */
export function partly(rest: NotAccepted): Outcome {
  return { outcome: "partly", part: { reference: "ref-text", what: "the text" }, rest };
}

/** Provably not sent, later it may be. */
export function deferred(retryAfterMs: number | null = null): NotAccepted {
  return { outcome: "deferred", retryAfterMs, reason: "busy" };
}

/** A contact's message to the test customer's number; by default over iMessage with the reference `in-1`. */
export function inbound(more: Partial<InboundSignal> = {}): InboundSignal {
  return {
    kind: "inbound",
    reference: "in-1",
    from: "+15550100001",
    to: "+15550000001",
    channel: "imessage",
    group: null,
    text: "Hi",
    attachments: [],
    replyTo: null,
    payment: null,
    effect: null,
    ...more,
  };
}

/** A receipt; by default on iMessage with the reference `ref-1`. */
export function receipt(kind: ReceiptSignal["receipt"], more: Partial<ReceiptSignal> = {}): Signal {
  return { kind: "receipt", reference: "ref-1", channel: "imessage", receipt: kind, ...more };
}

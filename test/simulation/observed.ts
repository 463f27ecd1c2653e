/** Wraps the sandbox so that every call to it and every signal of it is logged, and whether its memory of a message is on disk. */

import type {
  Memory,
  Outbound,
  Outcome,
  OutcomeMemory,
  Provider,
  ProviderContext,
} from "../../server/providers/provider.ts";
import { createSandbox } from "../../server/providers/sandbox/sandbox.ts";
import type { CarrierParts } from "./carrier.ts";
import type { CarrierLog, Deed, Question, Receipt, SendAttempt } from "./carrier-log.ts";
import type { Life } from "./life.ts";

/** The functions of `target`, whose promises resolve only while the life lasts. */
function within<Functions extends object>(life: Life, target: Functions): Functions {
  const wrapped = Object.entries(target).map(([name, own]) => [
    name,
    (...given: unknown[]) => {
      const made: unknown = own.apply(target, given);
      return made instanceof Promise ? life.whileAlive(made) : made;
    },
  ]);
  return Object.fromEntries(wrapped) as Functions;
}

/**
 * Which send attempts the sandbox took. It takes a message by its memory of it, which is committed with the outcome: an attempt
 * whose outcome never reached the disk was not taken.
 */
export class Takings {
  /** Notes that an attempt was taken, by a key of its memory. */
  readonly #takes = new Map<string, () => void>();

  /** The memory of an instance in one life: what it lists is on disk. */
  watch(memory: Memory): Memory {
    return {
      ...memory,
      list: async (prefix) => {
        const entries = await memory.list(prefix);
        for (const { key } of entries) this.#takes.get(key)?.();
        return entries;
      },
    };
  }

  /** The outcome of a send attempt: `take` is called once its memory is on disk. */
  attempted(outcome: Outcome, take: () => void): Outcome {
    for (const { key } of memoryOf(outcome)?.entries ?? []) this.#takes.set(key, take);
    if (outcome.outcome === "accepted" && outcome.memory === undefined) take();
    return this.concluded(outcome);
  }

  /** The outcome of a send attempt or a lookup, which notes that the attempt was taken once its memory is on disk. */
  concluded(outcome: Outcome): Outcome {
    const memory = memoryOf(outcome);
    if (memory === undefined) return outcome;
    const stored = () => {
      for (const { key } of memory.entries) this.#takes.get(key)?.();
      memory.stored();
    };
    return { ...outcome, memory: { ...memory, stored } } as Outcome;
  }
}

function memoryOf(outcome: Outcome): OutcomeMemory | undefined {
  return "memory" in outcome ? outcome.memory : undefined;
}

/** The sandbox of one life, with every call to it and every signal of it logged. */
export function observedSandbox(
  context: ProviderContext,
  life: Life,
  log: CarrierLog,
  parts: CarrierParts & { takings: Takings },
): Provider {
  const { instanceId } = context;
  const { takings } = parts;
  const provider: Provider = createSandbox({ ...context, memory: takings.watch(context.memory) });
  const { reconcile, actions, phones } = provider;
  const ask = {
    async reconcile(message: Outbound) {
      const { messageId, channel } = message;
      const question: Question = { order: parts.order(), instanceId, messageId, channel, answer: null };
      log.questions.push(question);
      const answer = await life.whileAlive(
        reconcile?.call(provider, message) ?? Promise.reject(new Error("no reconcile")),
      );
      question.answer = answer;
      return answer === "absent" ? answer : takings.concluded(answer);
    },
  };
  return {
    name: provider.name,
    capabilities: provider.capabilities,
    start: (signals) =>
      provider.start(async (signal) => {
        if (signal.kind !== "receipt") {
          const deed: Deed = { signal, at: parts.clock.now(), acceptedOrder: null };
          log.deeds.push(deed);
          const applied = await life.whileAlive(signals(signal));
          deed.acceptedOrder = parts.order();
          return applied;
        }
        const { messageId = "" } = signal;
        const reported: Receipt = { signal, messageId, at: parts.clock.now(), acceptedOrder: null };
        log.receipts.push(reported);
        const applied = await life.whileAlive(signals(signal));
        reported.acceptedOrder = parts.order();
        return applied;
      }),
    async send(message, abort) {
      const { messageId, channel, attempt, from, to, text } = message;
      const at = parts.clock.now();
      const made = { life: life.number, instanceId, messageId, channel, attempt, from, to, text, at };
      const sendAttempt: SendAttempt = {
        order: parts.order(),
        givenOrder: parts.order(),
        ...made,
        outcome: null,
        answeredOrder: null,
        taken: null,
      };
      log.sendAttempts.push(sendAttempt);
      const outcome = await life.whileAlive(provider.send(message, abort));
      sendAttempt.outcome = outcome;
      sendAttempt.answeredOrder = parts.order();
      const reference = outcome.outcome === "accepted" ? outcome.reference : "";
      const taken = { order: parts.order(), at: parts.clock.now(), reference };
      return takings.attempted(outcome, () => {
        sendAttempt.taken = taken;
      });
    },
    ...(reconcile === undefined ? {} : ask),
    ...(actions === undefined ? {} : { actions: within(life, actions) }),
    ...(phones === undefined ? {} : { phones: within(life, phones) }),
    health: () => provider.health(),
    stop: () => provider.stop(),
  };
}

/** Wraps the sandbox so that every call to it and every signal of it is logged. */

import type { Outbound, Provider } from "../../server/providers/provider.ts";
import type { CarrierLog, CarrierParts, Deed, Question, Receipt, SendAttempt } from "./carrier.ts";
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

/** The provider with every call to it and every signal of it logged. */
export function observed(
  provider: Provider,
  life: Life,
  log: CarrierLog,
  parts: CarrierParts & { instanceId: string },
): Provider {
  const { instanceId } = parts;
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
      return answer;
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
        ...made,
        outcome: null,
        answeredOrder: null,
        taken: null,
      };
      log.sendAttempts.push(sendAttempt);
      const outcome = await life.whileAlive(provider.send(message, abort));
      sendAttempt.outcome = outcome;
      sendAttempt.answeredOrder = parts.order();
      if (outcome.outcome === "accepted") {
        sendAttempt.taken = { order: parts.order(), at: parts.clock.now(), reference: outcome.reference };
      }
      return outcome;
    },
    ...(reconcile === undefined ? {} : ask),
    ...(actions === undefined ? {} : { actions: within(life, actions) }),
    ...(phones === undefined ? {} : { phones: within(life, phones) }),
    health: () => provider.health(),
    stop: () => provider.stop(),
  };
}

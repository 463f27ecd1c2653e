/** Settles unknown outcomes: asks the provider what became of a hand-over, and never sends blindly again. */

import type { MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { becomeUnknown, defer, fail } from "../../core/message-lifecycle.ts";
import { withPart } from "../../core/message-parts.ts";
import { placeOf } from "../../core/message-routing.ts";
import { type Outbound, type Outcome, outcomeOfRest, type SentPart } from "../../providers/provider.ts";
import { type InterruptedMessage, listInterrupted } from "../../store/messages.ts";
import type { WaitingPair } from "../../store/store.ts";
import { withDeadline } from "../deadline.ts";
import { changeContext, type With } from "../engine-deps.ts";
import type { RunResult } from "../lanes.ts";
import { changeMessage } from "./change-message.ts";
import { conclude } from "./conclude.ts";
import { askedAbout } from "./prepare.ts";

/** How long an outcome may stay unknown before the message fails with `OUTCOME_UNKNOWN`, in shifted milliseconds. */
const UNKNOWN_MS_MAX = 300_000;
/** A provider that does not know yet is asked again after as long as it has been unknown, within these bounds, in shifted milliseconds. */
const ASK_AGAIN_MS_MIN = 1_000;
const ASK_AGAIN_MS_MAX = 15_000;

/** Asks about a message whose hand-over was recorded and whose outcome nobody knows. `abort` ends the asking. */
export async function reconcile(
  deps: With<"chance" | "configCache" | "connections" | "link" | "messageCache" | "providers" | "typingIndicators">,
  message: Message,
  abort: AbortController,
): Promise<RunResult> {
  const connection = deps.connections.of(message.instanceId);
  if (connection === null) return wait(deps, message, "its instance is not running");
  const { provider, account } = connection;
  // Another one would truthfully say that it never had it.
  if (message.account !== null && message.account !== account)
    return wait(deps, message, "its instance has another peer now");
  // A lease that ran out: what died with it may have been in the middle of the hand-over, so the peer gets its time.
  if (message.unknownSince === null) {
    return wait(deps, message, "the hand-over was interrupted", provider.capabilities.reconcileAfterMs);
  }
  const outcome =
    provider.reconcile === undefined ? null : await ask(deps, provider.reconcile.bind(provider), message, abort);
  if (outcome === "absent") {
    const sendAgain = "the provider never took it: it is sent again";
    await changeMessage(deps, message, (fresh) => {
      const now = deps.clock.now();
      // At its place: what was accepted after it goes after it.
      const dueAt = placeOf(fresh, deps.settings.messageTtlMs, now);
      const deferred = fresh.sendAttempts === message.sendAttempts ? defer(fresh, sendAgain, dueAt, now) : null;
      return deferred === null ? null : { message: deferred, events: [] };
    });
    return "good";
  }
  const rest = outcome === null ? null : outcomeOfRest(outcome);
  if (outcome !== null && rest !== null && rest.outcome !== "unknown") {
    await conclude(deps, provider, message, outcome);
    return "good";
  }
  // Why an instance is down is its operator's matter, who reads it in its health.
  const isUp = deps.connections.isUp(deps, message.instanceId);
  const why = rest?.outcome === "unknown" ? rest.reason : null;
  const reason = isUp ? (why ?? "the provider cannot be asked") : "its instance is down";
  return wait(deps, message, reason, null, outcome?.outcome === "partly" ? outcome.part : null);
}

async function ask(
  deps: With<"messageCache">,
  question: (message: Outbound) => Promise<Outcome | "absent">,
  message: Message,
  abort: AbortController,
): Promise<Outcome | "absent"> {
  const late: Outcome = { outcome: "unknown", reason: "the provider did not say in time" };
  try {
    const asked = await askedAbout(deps, message);
    return await withDeadline<Outcome | "absent">(deps.clock, abort, () => question(asked), late);
  } catch (error) {
    deps.observer.fault("provider.settle", error);
    return { outcome: "unknown", reason: "the provider could not be asked" };
  }
}

/**
 * Nobody knows yet: looks again later, or, after five minutes, fails it with the truth. `part` is what is
 * known to have been sent of it.
 */
async function wait(
  deps: With<"link" | "messageCache">,
  message: Message,
  reason: string,
  waitMs: number | null = null,
  part: SentPart | null = null,
): Promise<RunResult> {
  if (message.unknownSince === null) deps.observer.unknownOutcome();
  await changeMessage(deps, message, (current) => {
    if (current.status !== "pending") return null;
    const fresh = withPart(current, part);
    const now = deps.clock.now();
    const since = fresh.unknownSince;
    if (since !== null && now - since >= UNKNOWN_MS_MAX) {
      const text = `It may have been sent: the hand-over did not end, and asking did not settle it (${reason}).`;
      return fail(fresh, { code: "OUTCOME_UNKNOWN", message: text }, changeContext(deps));
    }
    const againMs = Math.min(Math.max(now - (since ?? now), ASK_AGAIN_MS_MIN), ASK_AGAIN_MS_MAX);
    return { message: becomeUnknown(fresh, now + (waitMs ?? againMs), reason, now), events: [] };
  });
  return "bad";
}

/** How long what follows waits at the most, in shifted milliseconds. */
const WAIT_MS_MAX = 60_000;

/** What the messages of one pair wait for. */
interface Wait {
  from: string;
  to: string;
  /** Hand-overs that the provider is asked about, or that are to be made again before what follows them. */
  asked: Set<MessageId>;
  endsAt: number;
}

/** Pairs with interrupted hand-overs, from the start of the process on. */
export class Interrupted {
  readonly #deps: With<"configCache" | "messageCache" | "providers">;
  readonly #waits = new Map<string, Wait>();
  #loading: Promise<void> | null = null;

  constructor(deps: With<"configCache" | "messageCache" | "providers">) {
    this.#deps = deps;
  }

  /** Reads, once, what the last process left; must resolve before the first message is claimed. */
  load(): Promise<void> {
    this.#loading ??= this.#read().catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  /** Pairs of which nothing new is claimed now: what follows keeps its place, and goes out in the order of acceptance. */
  waiting(): WaitingPair[] {
    const now = this.#deps.clock.now();
    for (const [pair, { endsAt }] of this.#waits) if (now >= endsAt) this.#waits.delete(pair);
    return [...this.#waits.values()].map(({ from, to, asked }) => ({ from, to, except: [...asked] }));
  }

  /**
   * A message was looked at. What follows an interrupted one goes on when its outcome is known, or, if it was provably not
   * sent, once it has been handed over again.
   */
  looked(message: Message, result: RunResult): void {
    if (message.status === "pending") {
      const isQueued = this.#deps.messageCache.get(message.id)?.status === "queued";
      if (result !== "good" || isQueued) return;
    }
    const pair = pairOf(message);
    const wait = this.#waits.get(pair);
    if (wait?.asked.delete(message.id) === true && wait.asked.size === 0) this.#waits.delete(pair);
  }

  async #read(): Promise<void> {
    const { clock, configCache, providers, store } = this.#deps;
    const now = clock.now();
    for (const { id } of await configCache.instances()) {
      // Nobody can be asked: there is nothing to wait for.
      if (providers.get(id)?.reconcile === undefined) continue;
      for (const message of await listInterrupted(store.db, id, { now, withinMs: WAIT_MS_MAX }))
        this.#add(message, now);
    }
  }

  #add(message: InterruptedMessage, now: number): void {
    const { id, from, to, unknownSince } = message;
    const wait = this.#waits.get(pairOf(message)) ?? { from, to, asked: new Set(), endsAt: now };
    wait.asked.add(id);
    wait.endsAt = Math.max(wait.endsAt, (unknownSince ?? now) + WAIT_MS_MAX);
    this.#waits.set(pairOf(message), wait);
  }
}

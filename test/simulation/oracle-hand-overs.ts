/** Judges what reached the carriers: nothing twice, nothing early, nothing out of order, and no word of theirs lost. */

import type { AnyEvent, MessageEventData } from "../../sdk/wire.ts";
import type { HandOver } from "./carrier.ts";
import { fallbackAfterMs, type Judge, mayBeDone, type Story, textsOf } from "./story.ts";

/** Contract 3: after five minutes an unknown outcome fails the message. */
const UNKNOWN_MS = 300_000;

function handOversOf({ run }: Judge, { id }: Story): HandOver[] {
  return run.carrier.handOvers.filter(({ messageId }) => messageId === id);
}

/** Whether the carrier may have sent it: it is not proven that it did not. */
function mayHaveWorked({ taken, outcome }: HandOver): boolean {
  return taken !== null || outcome === null || outcome.outcome === "unknown" || outcome.outcome === "threw";
}

export function judgeHandOvers(judge: Judge): void {
  const { report, run } = judge;
  for (const story of judge.stories) {
    const { id, wish, events, customer } = story;
    const handOvers = handOversOf(judge, story);
    const texts = textsOf(story);
    const cancelled = events.some(({ type }) => type === "message.schedule_cancelled");
    if (cancelled && handOvers.length > 0) report("cancelled messages are never sent", `${id}: ${show(handOvers)}`);
    const { scheduledAt } = wish.body;
    const dueAt = scheduledAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(scheduledAt);
    if (handOvers.some(({ at }) => at < dueAt)) report("nothing is sent before its time", `${id}: ${show(handOvers)}`);
    const own = run.customers.find(({ name }) => name === customer)?.numbers ?? [];
    for (const [index, handOver] of handOvers.entries()) {
      const { text, to, from } = handOver;
      // What was deleted while it waited is not sent with its text any more, nor at all.
      if (!texts.includes(text) || to !== wish.body.to || !own.includes(from)) {
        report("accepted messages are kept", `${id} was handed over as something else: ${JSON.stringify(handOver)}`);
      }
      const before = handOvers[index - 1];
      const why = before === undefined ? null : whyNot(judge, story, before, handOver);
      if (why !== null) report("no hand-over is repeated blindly", `${id}: ${why}: ${show(handOvers)}`);
    }
  }
}

/** Why the second hand-over must not have followed the first; null when it may. */
function whyNot({ run }: Judge, story: Story, first: HandOver, second: HandOver): string | null {
  const retried = story
    .calls("retry")
    .some((call) => mayBeDone(call) && call.order < second.order && call.endedOrder > first.order);
  if (retried) return null;
  const same = first.channel === second.channel;
  if (first.outcome !== null && (first.answeredOrder ?? 0) > second.order) return "both were under way at once";
  const absent = run.carrier.questions.some(
    ({ messageId, channel, instanceId, answer, order }) =>
      messageId === story.id &&
      channel === first.channel &&
      instanceId === first.instanceId &&
      answer === "absent" &&
      order > first.order,
  );
  if (!mayHaveWorked(first)) {
    const { outcome } = first;
    // The service may have died before it had the refusal on disk.
    if (!same || outcome?.outcome !== "rejected" || absent) return null;
    if (outcome.notReachable === true) return "nobody is there on this channel, by whatever instance";
    return first.instanceId === second.instanceId ? "it had been refused by this instance" : null;
  }
  if (same) {
    if (!absent) return "the first may have worked, and nobody said that it had not";
    return first.taken === null ? null : "the first had worked";
  }
  const given = story.events.some(
    ({ type, data }) => type === "message.fallback" && data.fallbackFrom === first.channel,
  );
  return given ? null : "the first channel was not given up";
}

function show(handOvers: readonly HandOver[]): string {
  return JSON.stringify(
    handOvers.map(({ order, life, channel, attempt, outcome, taken }) => ({
      order,
      life,
      channel,
      attempt,
      outcome: outcome?.outcome ?? null,
      taken,
    })),
  );
}

/** Every fallback and every failure has a cause that the carriers know of, or a time that passed. */
export function judgeCauses(judge: Judge): void {
  for (const story of judge.stories) {
    for (const event of story.events) {
      const known =
        event.type === "message.fallback"
          ? hasFallbackCause(judge, story, event)
          : event.type !== "message.failed" || hasFailureCause(judge, story, event);
      if (known) continue;
      const what = `${story.id}: ${event.type} ${event.data.errorCode ?? event.data.reason} at ${event.timestamp}`;
      const timeline = JSON.stringify(story.message?.timeline ?? null);
      judge.report("what is given up had a cause", `${what}; ${show(handOversOf(judge, story))}; ${timeline}`);
    }
  }
}

type Told = AnyEvent<MessageEventData>;

function hasFallbackCause(judge: Judge, story: Story, { data, timestamp }: Told): boolean {
  const channel = data.fallbackFrom;
  const there = handOversOf(judge, story).filter((handOver) => handOver.channel === channel);
  switch (data.reason) {
    case "NOT_REACHABLE":
      return there.some(({ outcome }) => outcome?.outcome === "rejected" && outcome.notReachable === true);
    case "REJECTED":
      return isRefused(judge, story, there);
    default: {
      const afterMs = fallbackAfterMs(judge.run, story.wish);
      const before = story.events.filter(({ data: { sequence } }) => sequence < data.sequence);
      const sent = before.filter(({ type, data: { channel: on } }) => type === "message.sent" && on === channel);
      const waitedMs = Date.parse(timestamp) - Date.parse(sent.at(-1)?.timestamp ?? timestamp);
      return afterMs !== null && waitedMs >= afterMs;
    }
  }
}

function isRefused({ run }: Judge, { id }: Story, handOvers: readonly HandOver[]): boolean {
  const failed = run.carrier.receipts.some(({ messageId, signal }) => messageId === id && signal.receipt === "failed");
  return failed || handOvers.some(({ outcome }) => outcome?.outcome === "rejected" && outcome.notReachable !== true);
}

function hasFailureCause(judge: Judge, story: Story, { data, timestamp }: Told): boolean {
  const handOvers = handOversOf(judge, story);
  const at = Date.parse(timestamp);
  switch (data.errorCode) {
    case "NO_CHANNEL_AVAILABLE":
      return handOvers.some(({ outcome }) => outcome?.outcome === "rejected" && outcome.notReachable === true);
    case "REJECTED":
      return isRefused(judge, story, handOvers);
    case "IMESSAGE_SEND_FAILED":
    case "SMS_SEND_FAILED":
      return judge.run.carrier.receipts.some(
        ({ messageId, signal }) => messageId === story.id && signal.receipt === "failed",
      );
    case "EXPIRED": {
      const before = story.events.filter(({ data: { sequence } }) => sequence < data.sequence);
      const begun = before.filter(({ type }) => type === "message.queued" || type === "message.fallback");
      return at - Date.parse(begun.at(-1)?.timestamp ?? timestamp) >= judge.run.settings.messageTtlMs;
    }
    case "RECIPIENT_OPTED_OUT":
      return judge.run.carrier.deeds.some(
        ({ signal }) => signal.kind === "inbound" && signal.text === "STOP" && signal.from === story.wish.body.to,
      );
    case "OUTCOME_UNKNOWN":
      return data.mayHaveBeenSent === true && isLongUnknown(judge, story, handOvers, at);
    default:
      return false;
  }
}

/** Whether five minutes passed since a hand-over whose outcome the service cannot have on disk. */
function isLongUnknown({ run }: Judge, story: Story, handOvers: readonly HandOver[], at: number): boolean {
  // It may have died, or found no room, between the hand-over and the record of its outcome, or before the hand-over.
  const isCut = (life: number) => life < run.lives || run.wasFull;
  const begun = story.message?.timeline.find(({ status }) => status === "pending");
  const cut = begun !== undefined && isCut(1) && at - Date.parse(begun.at) >= UNKNOWN_MS;
  return cut || handOvers.some((one) => (mayHaveWorked(one) || isCut(one.life)) && at - one.at >= UNKNOWN_MS);
}

/** A receipt that the service took in is an event of that channel, or a note that it came too late. */
export function judgeReceipts({ run, stories, report }: Judge): void {
  // One that names only a reference which is not on disk yet belongs to nobody.
  if (!run.namesMessages) return;
  for (const { signal, messageId, takenInOrder } of run.carrier.receipts) {
    const story = stories.find(({ id }) => id === messageId);
    const { receipt, channel } = signal;
    if (takenInOrder === null || receipt === "failed" || story === undefined || story.message === null) continue;
    // Nothing moves what was taken back.
    if (story.message.status === "unsent") continue;
    const told = story.events.some(({ type, data }) => type === `message.${receipt}` && data.channel === channel);
    // Contract 3: that the channel had taken it is no news once the channel could not deliver it.
    const undelivered = story.events.some(({ data }) => data.errorCode?.endsWith("_SEND_FAILED"));
    if (receipt === "sent" && undelivered) continue;
    const noted = story.message.timeline.some(({ reason = "" }) =>
      reason.startsWith(`${receipt} receipt of a channel`),
    );
    if (!told && !noted) {
      const timeline = JSON.stringify(story.message.timeline);
      report("no receipt is lost", `${messageId}: ${receipt} on ${channel} of ${signal.reference}: ${timeline}`);
    }
  }
}

/** Of one number to one recipient, what was accepted first is handed over first. */
export function judgeOrder(judge: Judge): void {
  // Without room on the disk a message waits for its lease to end, and one that waits holds up no other.
  if (judge.run.wasFull) return;
  const begun = judge.stories.flatMap((story) => {
    const [first] = handOversOf(judge, story);
    const accepted = story.wish.calls.find(({ status }) => status === 202);
    if (first === undefined || accepted === undefined || story.wish.body.scheduledAt !== undefined) return [];
    // One whose first hand-over was cut off before it reached the carrier waits until that is settled; one that failed,
    // until somebody asks again.
    if (first.attempt !== 1 || story.calls("retry").some(mayBeDone)) return [];
    // One that waited for a line that was down, and went to another: what waits does not hold up the next.
    const moved = story.message?.timeline.some(({ reason = "" }) => reason.startsWith("moved: "));
    if (moved ?? judge.run.outages > 0) return [];
    return [{ id: story.id, pair: `${first.instanceId} ${first.from} ${first.to}`, handOver: first, accepted }];
  });
  for (const earlier of begun) {
    for (const later of begun) {
      const isPair = earlier.pair === later.pair && earlier.accepted.endedOrder < later.accepted.order;
      if (isPair && earlier.handOver.order > later.handOver.order) {
        const orders = `${later.handOver.order} before ${earlier.handOver.order}`;
        judge.report(
          "hand-overs keep the order",
          `${later.id} before ${earlier.id}, which was accepted first: ${orders}`,
        );
      }
    }
  }
}

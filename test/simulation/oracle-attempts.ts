/** Judges what reached the carriers: nothing twice, nothing early, nothing out of order, and no receipt lost. */

import type { AnyEvent, MessageEventData } from "../../sdk/wire.ts";
import type { SendAttempt } from "./carrier-log.ts";
import { fallbackAfterMs, type Judge, mayBeDone, type Story, textsOf } from "./story.ts";

/** A message whose outcome stays unknown fails after this time (docs/lifecycle.md). */
const UNKNOWN_MS = 300_000;

function sendAttemptsOf({ run }: Judge, { id }: Story): SendAttempt[] {
  return run.carrier.sendAttempts.filter(({ messageId }) => messageId === id);
}

/** Outcomes after which the service cannot know that the carrier did not send the message. */
const PERHAPS_SENT: readonly string[] = ["accepted", "unknown", "threw"];

/** Whether the carrier may have sent the message: nothing proves that it did not. */
function mayHaveWorked({ taken, outcome }: SendAttempt): boolean {
  return taken !== null || outcome === null || PERHAPS_SENT.includes(outcome.outcome);
}

export function judgeAttempts(judge: Judge): void {
  const { report, run } = judge;
  for (const story of judge.stories) {
    const { id, intent, events, customer } = story;
    const sendAttempts = sendAttemptsOf(judge, story);
    const texts = textsOf(story);
    const cancelled = events.some(({ type }) => type === "message.schedule_cancelled");
    if (cancelled && sendAttempts.length > 0)
      report("cancelled messages are never sent", `${id}: ${show(sendAttempts)}`);
    const { scheduledAt } = intent.body;
    const dueAt = scheduledAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(scheduledAt);
    if (sendAttempts.some(({ at }) => at < dueAt))
      report("nothing is sent before its time", `${id}: ${show(sendAttempts)}`);
    const own = run.customers.find(({ name }) => name === customer)?.numbers ?? [];
    for (const [index, sendAttempt] of sendAttempts.entries()) {
      const { text, to, from } = sendAttempt;
      // A deleted message is not sent.
      if (!texts.includes(text) || to !== intent.body.to || !own.includes(from)) {
        report("accepted messages are kept", `${id} was sent with other content: ${JSON.stringify(sendAttempt)}`);
      }
      const before = sendAttempts[index - 1];
      const why = before === undefined ? null : whyNot(judge, story, before, sendAttempt);
      if (why !== null) report("no send attempt is repeated blindly", `${id}: ${why}: ${show(sendAttempts)}`);
    }
  }
}

/** Why the second send attempt was not allowed; null if it was. */
function whyNot({ run }: Judge, story: Story, first: SendAttempt, second: SendAttempt): string | null {
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

function show(sendAttempts: readonly SendAttempt[]): string {
  return JSON.stringify(
    sendAttempts.map(({ order, life, channel, attempt, outcome, taken }) => ({
      order,
      life,
      channel,
      attempt,
      outcome: outcome?.outcome ?? null,
      taken,
    })),
  );
}

/** Every fallback and failure was caused by a carrier, or by a time limit. */
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
      judge.report("every failure has a cause", `${what}; ${show(sendAttemptsOf(judge, story))}; ${timeline}`);
    }
  }
}

type MessageEvent = AnyEvent<MessageEventData>;

function hasFallbackCause(judge: Judge, story: Story, { data, timestamp }: MessageEvent): boolean {
  const channel = data.fallbackFrom;
  const there = sendAttemptsOf(judge, story).filter((sendAttempt) => sendAttempt.channel === channel);
  switch (data.reason) {
    case "NOT_REACHABLE":
      return there.some(({ outcome }) => outcome?.outcome === "rejected" && outcome.notReachable === true);
    case "REJECTED":
      return isRefused(judge, story, there);
    default: {
      const afterMs = fallbackAfterMs(judge.run, story.intent);
      const before = story.events.filter(({ data: { sequence } }) => sequence < data.sequence);
      const sent = before.filter(({ type, data: { channel: on } }) => type === "message.sent" && on === channel);
      const waitedMs = Date.parse(timestamp) - Date.parse(sent.at(-1)?.timestamp ?? timestamp);
      return afterMs !== null && waitedMs >= afterMs;
    }
  }
}

function isRefused({ run }: Judge, { id }: Story, sendAttempts: readonly SendAttempt[]): boolean {
  const failed = run.carrier.receipts.some(({ messageId, signal }) => messageId === id && signal.receipt === "failed");
  return failed || sendAttempts.some(({ outcome }) => outcome?.outcome === "rejected" && outcome.notReachable !== true);
}

function hasFailureCause(judge: Judge, story: Story, { data, timestamp }: MessageEvent): boolean {
  const sendAttempts = sendAttemptsOf(judge, story);
  const at = Date.parse(timestamp);
  switch (data.errorCode) {
    case "NO_CHANNEL_AVAILABLE":
      return sendAttempts.some(({ outcome }) => outcome?.outcome === "rejected" && outcome.notReachable === true);
    case "REJECTED":
      return isRefused(judge, story, sendAttempts);
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
        ({ signal }) => signal.kind === "inbound" && signal.text === "STOP" && signal.from === story.intent.body.to,
      );
    case "OUTCOME_UNKNOWN":
      return data.mayHaveBeenSent === true && isLongUnknown(judge, story, sendAttempts, at);
    default:
      return false;
  }
}

/** Whether five minutes passed since a send attempt whose outcome the service cannot have on disk. */
function isLongUnknown({ run }: Judge, story: Story, sendAttempts: readonly SendAttempt[], at: number): boolean {
  // The service may have died, or the disk been full, before the attempt or before its outcome was recorded.
  const isCut = (life: number) => life < run.lives || run.wasFull;
  const begun = story.message?.timeline.find(({ status }) => status === "pending");
  const cut = begun !== undefined && isCut(1) && at - Date.parse(begun.at) >= UNKNOWN_MS;
  return cut || sendAttempts.some((one) => (mayHaveWorked(one) || isCut(one.life)) && at - one.at >= UNKNOWN_MS);
}

/** A receipt that the service accepted led to an event of its channel, or to a note that it came too late. */
export function judgeReceipts({ run, stories, report }: Judge): void {
  // A receipt with nothing but a reference that is not on disk yet cannot be matched.
  if (!run.namesMessages) return;
  for (const { signal, messageId, acceptedOrder } of run.carrier.receipts) {
    const story = stories.find(({ id }) => id === messageId);
    const { receipt, channel } = signal;
    if (acceptedOrder === null || receipt === "failed" || story === undefined || story.message === null) continue;
    // A receipt changes nothing about an unsent message.
    if (story.message.status === "unsent") continue;
    const reported = story.events.some(({ type, data }) => type === `message.${receipt}` && data.channel === channel);
    // A `sent` receipt changes nothing once the channel has failed to deliver the message.
    const undelivered = story.events.some(({ data }) => data.errorCode?.endsWith("_SEND_FAILED"));
    if (receipt === "sent" && undelivered) continue;
    const noted = story.message.timeline.some(({ reason = "" }) =>
      reason.startsWith(`${receipt} receipt of a channel`),
    );
    if (!reported && !noted) {
      const timeline = JSON.stringify(story.message.timeline);
      report("no receipt is lost", `${messageId}: ${receipt} on ${channel} of ${signal.reference}: ${timeline}`);
    }
  }
}

/** Messages of one number to one recipient are sent in the order of acceptance. */
export function judgeOrder(judge: Judge): void {
  // On a full disk a message waits for its lease to end, and does not block the next one.
  if (judge.run.wasFull) return;
  const begun = judge.stories.flatMap((story) => {
    const [first] = sendAttemptsOf(judge, story);
    const accepted = story.intent.calls.find(({ status }) => status === 202);
    if (first === undefined || accepted === undefined || story.intent.body.scheduledAt !== undefined) return [];
    // A message whose first attempt was interrupted waits for reconciliation; a failed one waits for a retry by hand.
    if (first.attempt !== 1 || story.calls("retry").some(mayBeDone)) return [];
    // A message that moved from a line that was down does not block the next one.
    const moved = story.message?.timeline.some(({ reason = "" }) => reason.startsWith("moved: "));
    if (moved ?? judge.run.outages > 0) return [];
    return [{ id: story.id, pair: `${first.instanceId} ${first.from} ${first.to}`, sendAttempt: first, accepted }];
  });
  for (const earlier of begun) {
    for (const later of begun) {
      const isPair = earlier.pair === later.pair && earlier.accepted.endedOrder < later.accepted.order;
      if (isPair && earlier.sendAttempt.order > later.sendAttempt.order) {
        const orders = `${later.sendAttempt.order} before ${earlier.sendAttempt.order}`;
        judge.report(
          "messages keep their order",
          `${later.id} before ${earlier.id}, which was accepted first: ${orders}`,
        );
      }
    }
  }
}

/** Judges the timeline, the events and the status of messages, at the end of the run and in every read before. */

import type { EventType, Message, MessageStatus, TimelineEntry } from "../../sdk/wire.ts";
import { type Judge, type Story, textsOf } from "./story.ts";

/** The transitions of docs/lifecycle.md, with each receipt as a step of its own. */
const NEXT: Readonly<Record<MessageStatus | "new", readonly MessageStatus[]>> = {
  new: ["scheduled", "queued"],
  scheduled: ["queued", "cancelled"],
  queued: ["pending", "failed"],
  pending: ["sent", "queued", "failed"],
  sent: ["delivered", "queued", "failed", "unsent"],
  delivered: ["read", "unsent"],
  read: ["unsent"],
  failed: ["queued", "sent", "delivered", "read"],
  cancelled: [],
  unsent: [],
  // Only inbound messages have this status; oracle-people.ts judges them.
  received: [],
};

const EVENT_OF: Partial<Record<MessageStatus, EventType>> = {
  scheduled: "message.scheduled",
  queued: "message.queued",
  sent: "message.sent",
  delivered: "message.delivered",
  read: "message.read",
  failed: "message.failed",
  cancelled: "message.schedule_cancelled",
  unsent: "message.unsent",
};

/** Events without a step in the timeline. */
const BESIDE: ReadonlySet<EventType> = new Set([
  "message.deleted",
  "message.edited",
  "message.edit_failed",
  "message.reaction",
]);

/** Whether an entry is a note that changed no status. */
function isNote({ status, reason = "" }: TimelineEntry): boolean {
  if (status === "queued" && reason.startsWith("moved: ")) return true;
  return reason.endsWith("receipt of a channel that was given up") || (status === "pending" && reason !== "");
}

/** The event of a step; null if it has none. */
function eventOf({ status, reason = "" }: TimelineEntry, before: MessageStatus | "new"): EventType | null {
  if (status !== "queued" || before === "new" || before === "scheduled" || before === "failed") {
    return EVENT_OF[status] ?? null;
  }
  // Any other return to the queue is a deferral or a failover, which emits no event.
  return reason.startsWith("fallback: ") ? "message.fallback" : null;
}

/** The events that the steps of a message emit. */
function eventsOf({ timeline }: Message): EventType[] {
  const steps = timeline.filter((entry) => !isNote(entry));
  return steps.flatMap((entry, index) => eventOf(entry, steps[index - 1]?.status ?? "new") ?? []);
}

export function judgeTimelines(judge: Judge): void {
  for (const story of judge.stories) {
    judgeEvents(judge, story);
    const { message } = story;
    if (message === null) continue;
    judgeSteps(judge, message);
    judgePast(judge, story, message);
  }
}

function judgeEvents({ report }: Judge, story: Story): void {
  const { id, events, message, intent } = story;
  const texts = textsOf(story);
  const sequences = events.map(({ data }) => data.sequence);
  if (sequences.some((sequence, index) => sequence !== index + 1)) {
    report("every change has one event", `${id} has the sequences ${sequences.join(" ")}`);
  }
  for (const { type, data } of events) {
    const text = data.text == null || texts.includes(data.text);
    // A reaction event is addressed from the contact to the customer.
    const fits = type === "message.reaction" || (data.to === intent.body.to && data.externalMessageId === intent.tag);
    if (!text || !fits)
      report("every change has one event", `${type} of ${id} tells of another: ${JSON.stringify(data)}`);
  }
  if (message === null) return;
  const emitted = events.map(({ type }) => type).filter((type) => !BESIDE.has(type));
  const due = eventsOf(message);
  if (emitted.join(" ") !== due.join(" ")) {
    report("every change has one event", `${id} went through ${due.join(" ")} and told of ${emitted.join(" ")}`);
  }
}

function judgeSteps({ report }: Judge, message: Message): void {
  const { id, timeline } = message;
  const shown = timeline.map(({ status, channel, reason }) => `${status} ${channel} ${reason ?? ""}`).join(", ");
  let status: MessageStatus | "new" = "new";
  /** Receipts of the present send attempt. */
  let rungs: MessageStatus[] = [];
  for (const entry of timeline.filter((one) => !isNote(one))) {
    const next: readonly MessageStatus[] = NEXT[status];
    if (!next.includes(entry.status)) report("the status never moves back", `${id}: ${status}, then ${shown}`);
    if (entry.status === "queued") rungs = [];
    if (rungs.includes(entry.status))
      report("the status never moves back", `${id} was ${entry.status} twice: ${shown}`);
    if (entry.status === "sent" || entry.status === "delivered" || entry.status === "read") rungs.push(entry.status);
    status = entry.status;
  }
  if (message.status !== status) {
    report("every change has one event", `${id} is ${message.status}, but its timeline ends with ${status}: ${shown}`);
  }
  if (message.createdAt !== timeline[0]?.at) {
    report("every change has one event", `${id} was made at ${message.createdAt}: ${JSON.stringify(timeline)}`);
  }
  const times = timeline.map(({ at }) => at);
  if (times.some((at, index) => at < (times[index - 1] ?? at))) report("the past never changes", `${id}: ${shown}`);
}

/** Every timeline that was read during the run is a prefix of the last timeline. */
function judgePast({ report }: Judge, story: Story, message: Message): void {
  for (const { status, answer } of story.calls("GET")) {
    if (status !== 200 || answer === null) continue;
    const { timeline } = answer.data as Message;
    const now = message.timeline.slice(0, timeline.length);
    if (JSON.stringify(now) !== JSON.stringify(timeline)) {
      report(
        "the past never changes",
        `${story.id} was read as ${JSON.stringify(timeline)}, is ${JSON.stringify(now)}`,
      );
    }
  }
  if (story.calls("schedule").some(({ status }) => status === 200) && message.status !== "cancelled") {
    report("cancelled messages are never sent", `${story.id} was cancelled and is ${message.status}`);
  }
}

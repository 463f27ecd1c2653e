/** The rules of the oracle by name, and the story of one message: its request, calls, record and events. */

import type { AnyEvent, Message, MessageEventData } from "../../sdk/wire.ts";
import type { Call, SendIntent } from "./client.ts";
import type { Observed } from "./world.ts";

/** A broken rule, and where the run broke it. */
export interface Violation {
  rule: Rule;
  what: string;
}

/** The rules, by the names under which they are reported. */
export type Rule =
  | "accepted messages are kept"
  | "refused requests do nothing"
  | "one key makes one message"
  | "no response is a fault"
  | "everything ends"
  | "every change has one event"
  | "the status never moves back"
  | "the past never changes"
  | "every event has its deliveries"
  | "attempts follow the schedule"
  | "recorded attempts were sent"
  | "webhooks are signed and complete"
  | "first attempts keep their order"
  | "no send attempt is repeated blindly"
  | "cancelled messages are never sent"
  | "nothing is sent before its time"
  | "every failure has a cause"
  | "no receipt is lost"
  | "no note is lost"
  | "messages keep their order"
  | "what people do is reported once"
  | "payments end once"
  | "nothing follows an unsend"
  | "nothing is sent after STOP"
  | "no two contacts share an address";

/** Everything that a run shows of one message. */
export interface Story {
  id: string;
  customer: string;
  intent: SendIntent;
  /** The record at the end of the run; null if it was deleted. */
  message: Message | null;
  events: AnyEvent<MessageEventData>[];
  /** Calls about the message, by kind. */
  calls(kind: "GET" | "PUT" | "DELETE" | "schedule" | "retry" | "unsend"): Call[];
}

export interface Judge {
  run: Observed;
  stories: Story[];
  report(rule: Rule, what: string): void;
}

/** Whether a call succeeded or may have: it was not refused. */
export function mayBeDone({ reached, status }: Call): boolean {
  return reached && (status === null || status < 300);
}

/** Texts that the message may have: the text of the request and those of its edits. */
export function textsOf(story: Story): string[] {
  const edits = story.calls("PUT").filter(mayBeDone);
  return [story.intent.body.content?.text ?? "", ...edits.map(({ body }) => (body as { text: string }).text)];
}

/** Time after which a channel of this message is given up; null: never. */
export function fallbackAfterMs(run: Observed, { body }: SendIntent): number | null {
  const seconds = body.routing?.fallbackAfterSeconds;
  return seconds === undefined ? run.settings.fallbackAfterMs : seconds * 1_000;
}

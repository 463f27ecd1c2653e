/** What an oracle judges by: the rules by name, and the story of one message from every side. */

import type { AnyEvent, Message, MessageEventData } from "../../sdk/wire.ts";
import type { Call, Wish } from "./client.ts";
import type { Observed } from "./world.ts";

/** One rule that a run broke, and where. */
export interface Violation {
  rule: Rule;
  what: string;
}

/** The rules, by the names under which they are reported. */
export type Rule =
  | "accepted messages are kept"
  | "refused requests do nothing"
  | "one key makes one message"
  | "no answer is a fault"
  | "everything comes to rest"
  | "every change has one event"
  | "the status never moves back"
  | "the past never changes"
  | "every event has its deliveries"
  | "attempts follow the schedule"
  | "attempts are what was sent"
  | "what is sent is signed and whole"
  | "first attempts keep the order"
  | "no hand-over is repeated blindly"
  | "cancelled messages are never sent"
  | "nothing is sent before its time"
  | "what is given up had a cause"
  | "no receipt is lost"
  | "hand-overs keep the order"
  | "what people do is told once"
  | "payments end once"
  | "nothing follows an unsend"
  | "nothing is sent after STOP"
  | "no two contacts share an address";

/** All that is known of one message, from every side. */
export interface Story {
  id: string;
  customer: string;
  wish: Wish;
  /** As it can be read at rest; null when it was deleted. */
  message: Message | null;
  events: AnyEvent<MessageEventData>[];
  /** Calls about it, by what they asked for: `GET`, `PUT`, `DELETE`, `schedule`, `retry`, `unsend`. */
  calls(kind: "GET" | "PUT" | "DELETE" | "schedule" | "retry" | "unsend"): Call[];
}

export interface Judge {
  run: Observed;
  stories: Story[];
  report(rule: Rule, what: string): void;
}

/** Whether a call was done or may have been: nobody told that it was refused. */
export function mayBeDone({ reached, status }: Call): boolean {
  return reached && (status === null || status < 300);
}

/** What the message may say: what was sent, and what it was edited to. */
export function textsOf(story: Story): string[] {
  const edits = story.calls("PUT").filter(mayBeDone);
  return [story.wish.body.content?.text ?? "", ...edits.map(({ body }) => (body as { text: string }).text)];
}

/** Time after which a channel of this message is given up; null: never. */
export function fallbackAfterMs(run: Observed, { body }: Wish): number | null {
  const seconds = body.routing?.fallbackAfterSeconds;
  return seconds === undefined ? run.settings.fallbackAfterMs : seconds * 1_000;
}

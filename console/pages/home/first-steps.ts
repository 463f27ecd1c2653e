/** The first steps of somebody new, and which of them have been done. Pure: read from what the service has recorded. */

import type { Delivery, Event, Inbox, Session } from "../../../sdk/wire.ts";

const STEPS = ["send", "reply", "webhook", "signature", "retry"] as const;

/** A step of the checklist. */
export type StepName = (typeof STEPS)[number];

/** The steps in order. Without the sandbox's inbox they end with the reply: the others are seen there. */
export function stepsOf({ isInboxOn }: Pick<Session, "isInboxOn">): readonly StepName[] {
  return isInboxOn ? STEPS : STEPS.slice(0, STEPS.indexOf("webhook"));
}

/** Everything that tells whether the steps were done. */
export interface Traces {
  events: readonly Event[];
  deliveries: readonly Delivery[];
  inbox: Inbox | undefined;
}

/** The steps that were done. The built-in inbox is no endpoint: its attempts are in no delivery, but in its own requests. */
export function doneSteps({ events, deliveries, inbox }: Traces): Set<StepName> {
  const requests = inbox?.requests ?? [];
  const answers = [...deliveries.flatMap(({ attempts }) => attempts), ...requests];
  const received = requests.map(({ headers }) => headers["webhook-id"]).filter((id) => id !== undefined);
  const done: [StepName, boolean][] = [
    ["send", events.some(({ type }) => type === "message.queued" || type === "message.sent")],
    ["reply", events.some(({ type }) => type === "message.inbound")],
    ["webhook", answers.some(({ status }) => status !== null && status >= 200 && status < 300)],
    ["signature", requests.some(({ verified }) => verified)],
    ["retry", deliveries.some(({ attempts }) => attempts.length > 1) || new Set(received).size < received.length],
  ];
  return new Set(done.flatMap(([name, isDone]) => (isDone ? [name] : [])));
}

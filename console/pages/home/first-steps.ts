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

/** How it is known that a step was done. */
export interface Proof {
  /** The receiver of the webhook; null for a step without one. */
  by: string | null;
  at: string;
}

/** A response of a receiver to an event. */
interface Answer extends Proof {
  eventId: string | undefined;
  status: number | null;
  /** Whether the receiver said that the signature is right: only the built-in inbox tells. */
  isVerified: boolean;
}

const INBOX = "the built-in inbox";

/** The steps that were done, each with the oldest proof. The built-in inbox is no endpoint: its attempts are in no delivery, but in its own requests. */
export function doneSteps({ events, deliveries, inbox }: Traces): Map<StepName, Proof> {
  const answers = answersOf(deliveries, inbox);
  const happened = (...types: Event["type"][]): Proof | undefined => {
    const event = events.findLast(({ type }) => types.includes(type));
    return event && { by: null, at: event.timestamp };
  };
  const again = answers.find(({ by, eventId }, index) => {
    const isSame = (before: Answer) => before.by === by && before.eventId === eventId;
    return eventId !== undefined && answers.slice(0, index).some(isSame);
  });
  const proofs: [StepName, Proof | undefined][] = [
    ["send", happened("message.queued", "message.sent")],
    ["reply", happened("message.inbound")],
    ["webhook", answers.find(({ status }) => status !== null && status >= 200 && status < 300)],
    ["signature", answers.find(({ isVerified }) => isVerified)],
    ["retry", again],
  ];
  return new Map(
    proofs.flatMap(([name, proof]) => (proof === undefined ? [] : [[name, { by: proof.by, at: proof.at }]])),
  );
}

/** The responses of every receiver, those of your own endpoints before those of the inbox, and the oldest first. */
function answersOf(deliveries: readonly Delivery[], inbox: Inbox | undefined): Answer[] {
  const own = deliveries.toReversed().flatMap(({ url, eventId, attempts }) => {
    const by = `your endpoint at ${new URL(url).host}`;
    return attempts.map(({ at, status }) => ({ by, at, eventId, status, isVerified: false }));
  });
  const builtIn = (inbox?.requests ?? []).toReversed().map(({ receivedAt, headers, status, verified }) => {
    return { by: INBOX, at: receivedAt, eventId: headers["webhook-id"], status, isVerified: verified };
  });
  return [...own, ...builtIn];
}

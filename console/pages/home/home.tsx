/** Home: the checklist of the first five minutes until it is done or dismissed, then the figures come first. */

import { type ReactNode, useEffect, useRef } from "react";
import type { Inbox } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { useEvents } from "../../api/events.ts";
import { useInbox } from "../../api/sandbox.ts";
import { Button } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/empty.tsx";
import { usePreference } from "../../parts/preference.ts";
import { toast } from "../../parts/toasts.tsx";
import { Checklist } from "./checklist.tsx";
import { Figures } from "./figures.tsx";
import { doneSteps, type Proof, type StepName, stepsOf } from "./first-steps.ts";

/** The screen of `/`. */
export function Home() {
  const { session } = useConnected();
  const events = useEvents({});
  const deliveries = useDeliveries({});
  const inbound = useEvents({ type: "message.inbound", limit: 1 });
  const inbox = useInbox();
  if (events.isPending || deliveries.isPending || inbound.isPending || inbox.isLoading) return <Loading />;
  if (events.data === undefined) return <Failed error={events.error} onRetry={() => void events.refetch()} />;
  const recorded = doneSteps({
    events: [...events.data.events, ...(inbound.data?.events ?? [])],
    deliveries: deliveries.data?.deliveries ?? [],
    inbox: inbox.data,
  });
  return (
    <div className="mx-auto flex w-full max-w-4xl flex-col gap-4 p-4 md:p-6">
      {session.isSandbox ? (
        <Guided recorded={recorded} inbox={inbox.data}>
          <Figures />
        </Guided>
      ) : (
        <Figures />
      )}
    </div>
  );
}

interface GuidedProps {
  recorded: ReadonlyMap<StepName, Proof>;
  inbox: Inbox | undefined;
  children: ReactNode;
}

/** The checklist until all is done, which it says when it goes. This browser remembers a reader who dismissed it, or asked for it again. */
function Guided({ recorded, inbox, children }: GuidedProps) {
  const { session } = useConnected();
  const [choice, choose] = usePreference(`checklist.${session.keyId}`, "until done");
  const steps = stepsOf(session);
  const done = useDoneSteps(steps, recorded);
  const isNew = steps.some((name) => !done.has(name));
  const isShown = choice === "until done" ? isNew : choice === "shown";
  const wasNew = useRef(isNew);
  useEffect(() => {
    if (wasNew.current && !isNew && choice === "until done")
      toast("All steps are done: the checklist makes room for the figures.");
    wasNew.current = isNew;
  }, [isNew, choice]);
  const dismiss = () => {
    choose("dismissed");
    toast("This browser shows the first steps no more. The button below the figures brings them back.");
  };
  return (
    <>
      {isShown && <Checklist steps={steps} done={done} proofs={recorded} inbox={inbox} onDismiss={dismiss} />}
      {children}
      {!isShown && (
        <Button className="self-center" onClick={() => choose("shown")}>
          Show the first steps
        </Button>
      )}
    </>
  );
}

/**
 * The steps that are recorded now or were before. This browser remembers them: a restart of the service empties the inbox, and newer
 * records push the old ones off the pages that Home reads.
 */
function useDoneSteps(steps: readonly StepName[], recorded: ReadonlyMap<StepName, Proof>): ReadonlySet<StepName> {
  const { session } = useConnected();
  const [kept, keep] = usePreference(`first-steps.${session.keyId}`, "");
  const known = kept.split(" ");
  const done = steps.filter((name) => recorded.has(name) || known.includes(name));
  const text = done.join(" ");
  useEffect(() => {
    if (text !== kept) keep(text);
  }, [text, kept, keep]);
  return new Set(done);
}

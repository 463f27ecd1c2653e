/** Home: the checklist of the first five minutes; once it is done, the figures come first. */

import { useEffect, useRef } from "react";
import type { Inbox } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { useEvents } from "../../api/events.ts";
import { useInbox } from "../../api/sandbox.ts";
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
      {session.isSandbox && <Guide recorded={recorded} inbox={inbox.data} />}
      <Figures />
    </div>
  );
}

/** The checklist until all is done; says so when it goes. */
function Guide({ recorded, inbox }: { recorded: ReadonlyMap<StepName, Proof>; inbox: Inbox | undefined }) {
  const { session } = useConnected();
  const steps = stepsOf(session);
  const done = useDoneSteps(steps, recorded);
  const isNew = steps.some((name) => !done.has(name));
  const wasNew = useRef(isNew);
  useEffect(() => {
    if (wasNew.current && !isNew) toast("All steps are done: the checklist makes room for the figures.");
    wasNew.current = isNew;
  }, [isNew]);
  return isNew ? <Checklist steps={steps} done={done} proofs={recorded} inbox={inbox} /> : null;
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

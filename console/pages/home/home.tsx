/** Home: the checklist of the first five minutes; once it is done, the figures come first. */

import { useEffect, useRef } from "react";
import { useConnected } from "../../api/context.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { useEvents } from "../../api/events.ts";
import { useInbox } from "../../api/sandbox.ts";
import { Failed, Loading } from "../../parts/empty.tsx";
import { toast } from "../../parts/toasts.tsx";
import { Checklist } from "./checklist.tsx";
import { Figures } from "./figures.tsx";
import { doneSteps, type StepName } from "./first-steps.ts";

const STEPS = 5;

/** The screen of `/`. */
export function Home() {
  const { session } = useConnected();
  const events = useEvents({});
  const deliveries = useDeliveries({});
  const inbound = useEvents({ type: "message.inbound", limit: 1 });
  const inbox = useInbox();
  if (events.isPending || deliveries.isPending || inbound.isPending || inbox.isLoading) return <Loading />;
  if (events.data === undefined) return <Failed error={events.error} onRetry={() => void events.refetch()} />;
  const done = doneSteps({
    events: [...events.data.events, ...(inbound.data?.events ?? [])],
    deliveries: deliveries.data?.deliveries ?? [],
    inbox: inbox.data,
  });
  return (
    <div className="mx-auto flex w-full max-w-4xl flex-col gap-4 p-4 md:p-6">
      {session.isSandbox && <Guide done={done} />}
      <Figures />
    </div>
  );
}

/** The checklist until all is done; says so when it goes. */
function Guide({ done }: { done: ReadonlySet<StepName> }) {
  const isNew = done.size < STEPS;
  const wasNew = useRef(isNew);
  useEffect(() => {
    if (wasNew.current && !isNew) toast("All five steps are done: the checklist makes room for the figures.");
    wasNew.current = isNew;
  }, [isNew]);
  return isNew ? <Checklist done={done} /> : null;
}

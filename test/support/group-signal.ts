/** Signals of groups, as a provider reports them. */

import type { GroupSignal } from "../../server/providers/provider.ts";
import type { TestContext } from "./context.ts";

/** A contact joined a group of the test's customer, unless `more` says otherwise. */
export function groupSignalOf(made: TestContext, reference: string, more: Partial<GroupSignal>): GroupSignal {
  return {
    kind: "group",
    reference,
    to: made.number.address,
    channel: "imessage",
    group: { reference: "group-1", name: null, participants: [] },
    change: "participantAdded",
    participant: null,
    title: null,
    actor: null,
    ...more,
  };
}

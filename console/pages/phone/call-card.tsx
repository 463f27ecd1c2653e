/** A FaceTime call of the contact that rings or goes on, over the composer. */

import type { CallAction } from "../../../sdk/wire.ts";
import { useCallWith, usePhoneActs } from "../../api/phones.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icons.tsx";
import type { NoteAct } from "./recording.ts";

/** The card; nothing while there is no call. */
export function CallCard({ number, onAct }: { number: string; onAct: NoteAct }) {
  const call = useCallWith(number).data ?? null;
  const acts = usePhoneActs(number);
  if (call === null) return null;
  const rings = call.status === "incoming";
  const act = (action: CallAction) =>
    onAct(acts.call.mutateAsync({ action }).then(() => ({ does: "call", number, call: { action } })));
  return (
    <div role="alert" className="mx-3 mb-2 flex flex-wrap items-center gap-2 rounded-2xl border bg-raised p-2.5 shadow">
      <span
        className={`flex size-8 items-center justify-center rounded-full bg-good-soft text-good ${rings ? "pulse-dot" : ""}`}
      >
        <Icon name="video" />
      </span>
      <span className="min-w-0 flex-1 font-medium">{rings ? "Rings you by FaceTime" : "In a FaceTime call"}</span>
      <span className="flex gap-2">
        {rings && (
          <>
            <Button tone="primary" onClick={() => act("answer")}>
              You answer
            </Button>
            <Button onClick={() => act("miss")}>You miss it</Button>
          </>
        )}
        <Button onClick={() => act("hangup")}>Hang up</Button>
      </span>
    </div>
  );
}

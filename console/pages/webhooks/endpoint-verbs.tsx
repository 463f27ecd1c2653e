/** Actions on an endpoint: test, replay, change, rotate its secret, pause, delete. */

import { useState } from "react";
import type { TestedDelivery, Webhook } from "../../../sdk/wire.ts";
import { useDeleteEndpoint, useTestEndpoint, useUpdateEndpoint } from "../../api/webhooks.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { AttemptBadge } from "../../parts/delivery-line.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { formatMs } from "../../parts/formats.ts";
import { RecordLink } from "../../parts/record-link.tsx";
import { toast, toastError } from "../../parts/toasts.tsx";
import { EndpointForm } from "./endpoint-form.tsx";
import { RotateDialog } from "./grace.tsx";

interface EndpointVerbsProps {
  endpoint: Webhook;
  onReplay: () => void;
  onDeleted: () => void;
}

/** The buttons, with the result of the last test. */
export function EndpointVerbs({ endpoint, onReplay, onDeleted }: EndpointVerbsProps) {
  const [open, setOpen] = useState<"edit" | "rotate" | "pause" | "delete" | null>(null);
  const [tested, setTested] = useState<TestedDelivery | null>(null);
  const test = useTestEndpoint(endpoint.id);
  const update = useUpdateEndpoint(endpoint.id);
  const remove = useDeleteEndpoint(endpoint.id);
  const close = () => setOpen(null);
  const setActive = (active: boolean) => {
    close();
    update.mutate(
      { active },
      {
        onSuccess: () =>
          toast(active ? "The endpoint receives events again. Replay what it missed." : "The endpoint is paused."),
        onError: toastError,
      },
    );
  };
  const startDelete = () => {
    close();
    remove.mutate(undefined, {
      onSuccess: () => {
        toast("The endpoint is deleted.");
        onDeleted();
      },
      onError: toastError,
    });
  };
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Button
          tone="primary"
          icon="send"
          disabled={test.isPending || !endpoint.active}
          onClick={() => test.mutate(undefined, { onSuccess: setTested, onError: toastError })}
        >
          {test.isPending ? "Sending…" : "Send a test event"}
        </Button>
        <Button icon="retry" disabled={!endpoint.active} onClick={onReplay}>
          Replay since…
        </Button>
        <Button onClick={() => setOpen("edit")}>Change</Button>
        <Button onClick={() => setOpen("rotate")}>Rotate the secret</Button>
        <Button
          icon={endpoint.active ? "pause" : "play"}
          disabled={update.isPending}
          onClick={() => (endpoint.active ? setOpen("pause") : setActive(true))}
        >
          {endpoint.active ? "Pause" : "Resume"}
        </Button>
        <Button tone="quiet" onClick={() => setOpen("delete")}>
          Delete
        </Button>
      </div>
      {tested !== null && <TestResult tested={tested} />}
      <EndpointForm open={open === "edit"} endpoint={endpoint} onClose={close} onSaved={close} />
      <RotateDialog endpoint={endpoint} open={open === "rotate"} onClose={close} />
      <Confirm
        open={open === "pause"}
        onClose={close}
        title="Pause this endpoint?"
        says="Its pending deliveries are cancelled, and it gets no new ones. Once it receives again, replay what it missed."
        verb="Pause it"
        onConfirm={() => setActive(false)}
      />
      <Confirm
        open={open === "delete"}
        onClose={close}
        title="Delete this endpoint?"
        says="Its pending deliveries are cancelled. The events stay stored."
        verb="Delete it"
        onConfirm={startDelete}
      />
    </>
  );
}

function TestResult({ tested }: { tested: TestedDelivery }) {
  const last = tested.attempts.at(-1);
  return (
    <p role="status" className="flex flex-wrap items-center gap-2 text-soft">
      The test event: <StatusBadge status={tested.status} />
      {last !== undefined && (
        <>
          <AttemptBadge attempt={last} of={tested.status} />
          <span className="tabular-nums">{formatMs(last.durationMs)}</span>
        </>
      )}
      <RecordLink id={tested.id} />
    </p>
  );
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** A sentence about the consequences. */
  says: string;
  verb: string;
  onConfirm: () => void;
}

function Confirm({ open, onClose, title, says, verb, onConfirm }: ConfirmProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button tone="danger" onClick={onConfirm}>
            {verb}
          </Button>
        </>
      }
    >
      <p>{says}</p>
    </Dialog>
  );
}

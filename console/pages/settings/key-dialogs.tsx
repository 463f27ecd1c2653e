/** Dialogs of a key: its rotation, its revocation, and the only look at a new one. */

import { useState } from "react";
import type { Key } from "../../../sdk/wire.ts";
import { useRevokeKey, useRotateKey } from "../../api/keys.ts";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { toast, toastError } from "../../parts/toasts.tsx";
import { maskedKey } from "./key-state.ts";

const GRACES = [
  [86_400, "a day"],
  [3_600, "an hour"],
  [604_800, "a week"],
  [0, "no longer: it ends at once"],
] as const;

/** Replaces a key. */
export function RotateKeyDialog({
  of,
  isOwn,
  onClose,
  onRotated,
}: {
  of: Key;
  /** Whether this browser is signed in with the key: it must outlive the only look at the new one. */
  isOwn: boolean;
  onClose: () => void;
  onRotated: (key: Key) => void;
}) {
  const rotate = useRotateKey();
  const [gracePeriodSeconds, setGrace] = useState<number>(GRACES[0][0]);
  const run = () => rotate.mutate({ id: of.id, gracePeriodSeconds }, { onSuccess: onRotated, onError: toastError });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Rotate “${of.name}”`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" icon="retry" disabled={rotate.isPending} onClick={run}>
            Rotate
          </Button>
        </>
      }
    >
      <p>A new key takes the place of {maskedKey(of)}, with the same scope and rate limit.</p>
      <label className="mt-3 flex flex-wrap items-center gap-2">
        <span className="font-medium">The old key works for</span>
        <select
          className="h-8 rounded-md border border-strong-line bg-back px-2"
          value={gracePeriodSeconds}
          onChange={(event) => setGrace(Number(event.target.value))}
        >
          {GRACES.filter(([seconds]) => seconds > 0 || !isOwn).map(([seconds, words]) => (
            <option key={seconds} value={seconds}>
              {words}
            </option>
          ))}
        </select>
      </label>
    </Dialog>
  );
}

/** Revokes a key after a question. */
export function RevokeKeyDialog({ of, isOwn, onClose }: { of: Key; isOwn: boolean; onClose: () => void }) {
  const revoke = useRevokeKey();
  const run = () =>
    revoke.mutate(of.id, {
      onSuccess: () => {
        onClose();
        toast(`${of.name} is revoked.`);
      },
      onError: toastError,
    });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Revoke “${of.name}”?`}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button tone="danger" disabled={revoke.isPending} onClick={run}>
            Revoke the key
          </Button>
        </>
      }
    >
      <p>
        {maskedKey(of)} stops working within a second, its event streams close and its sessions end. This cannot be
        undone.
      </p>
      {isOwn && <p className="mt-2 text-bad">This browser is signed in with this key: it will be signed out.</p>}
    </Dialog>
  );
}

/** The key itself, which no later request returns. */
export function ShownOnce({ of, onClose }: { of: Key; onClose: () => void }) {
  const key = of.key ?? "";
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Store “${of.name}” now`}
      isFirm
      actions={
        <Button tone="primary" icon="check" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <p>The service keeps only a hash of the key: it is shown this once.</p>
      <div className="mt-3 flex items-center gap-1 rounded-lg border bg-panel py-1 pr-1 pl-3">
        <code className="min-w-0 flex-1 font-mono text-xs break-all">{key}</code>
        <CopyButton text={key} label="Copy the key" />
      </div>
    </Dialog>
  );
}

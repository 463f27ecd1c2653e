/** The rotation of a secret, and the bar of the time in which the old secret still signs. */

import { useState } from "react";
import type { Webhook } from "../../../sdk/wire.ts";
import { useRotateSecret } from "../../api/webhooks.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { formatCountdown, formatExact } from "../../parts/formats.ts";
import { useRealNow } from "../../parts/time.tsx";
import { toastError } from "../../parts/toasts.tsx";
import { graceOf, shareLeft } from "./grace-period.ts";
import { SecretOnce } from "./secret-once.tsx";

const PERIODS = [
  { seconds: 86_400, title: "24 hours" },
  { seconds: 604_800, title: "7 days" },
  { seconds: 3_600, title: "1 hour" },
  { seconds: 0, title: "None: the old secret is known to a stranger" },
] as const;

/** The bar; nothing without a grace period. */
export function GraceBar({ endpoint }: { endpoint: Webhook }) {
  const now = useRealNow();
  const grace = graceOf(endpoint);
  const left = shareLeft(grace, now);
  if (grace === null || left === null) return null;
  return (
    <div className="rounded-lg border px-3 py-2">
      <p className="flex justify-between gap-2">
        <span>X-Signature is still made with the old secret; webhook-signature has both.</span>
        <span className="text-warn">
          <time dateTime={new Date(grace.until).toISOString()} title={formatExact(grace.until)}>
            {formatCountdown(grace.until - now)}
          </time>{" "}
          left
        </span>
      </p>
      <div
        role="progressbar"
        aria-label="Grace period of the old secret"
        aria-valuenow={Math.round(left * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
        className="mt-2 h-1.5 overflow-hidden rounded-full bg-hover"
      >
        <div className="h-full rounded-full bg-warn" style={{ width: `${left * 100}%` }} />
      </div>
    </div>
  );
}

/** The dialog that rotates, and then shows the new secret once. */
export function RotateDialog({ endpoint, open, onClose }: { endpoint: Webhook; open: boolean; onClose: () => void }) {
  const rotate = useRotateSecret(endpoint.id);
  const [seconds, setSeconds] = useState<number>(PERIODS[0].seconds);
  const [secret, setSecret] = useState<string | null>(null);
  const run = () =>
    rotate.mutate(seconds, {
      onSuccess: (rotated) => {
        onClose();
        setSecret(rotated.secret ?? null);
      },
      onError: toastError,
    });
  return (
    <>
      <Dialog
        open={open}
        onClose={onClose}
        title="Rotate the secret"
        actions={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button tone="primary" disabled={rotate.isPending} onClick={run}>
              Rotate
            </Button>
          </>
        }
      >
        <p>
          During the grace period X-Signature is made with the old secret, and webhook-signature carries both. After it,
          only the new secret signs: change your receiver before.
        </p>
        <fieldset className="mt-3 flex flex-col gap-1">
          <legend className="font-medium">Grace period</legend>
          {PERIODS.map((period) => (
            <label key={period.seconds} className="flex items-center gap-2">
              <input
                type="radio"
                name="grace"
                checked={seconds === period.seconds}
                onChange={() => setSeconds(period.seconds)}
              />
              {period.title}
            </label>
          ))}
        </fieldset>
      </Dialog>
      <SecretOnce secret={secret} onClose={() => setSecret(null)} />
    </>
  );
}

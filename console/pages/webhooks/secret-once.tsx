/** Shows a generated secret: once, since the service never shows it again. */

import { useState } from "react";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";

/** The dialog; closed while `secret` is null. */
export function SecretOnce({ secret, onClose }: { secret: string | null; onClose: () => void }) {
  const [isRevealed, setRevealed] = useState(false);
  const close = () => {
    setRevealed(false);
    onClose();
  };
  return (
    <Dialog
      open={secret !== null}
      onClose={close}
      title="The signing secret"
      actions={
        <Button tone="primary" onClick={close}>
          I have stored it
        </Button>
      }
    >
      <p>Your receiver verifies each request with it. The service shows it only now.</p>
      <div className="mt-3 flex min-h-9 items-center gap-2 rounded-md border bg-panel py-1 pr-1 pl-3">
        <code className="min-w-0 flex-1 font-mono text-xs break-all">
          {isRevealed ? secret : `${(secret ?? "").slice(0, 6)}${"•".repeat(24)}`}
        </code>
        <Button tone="quiet" onClick={() => setRevealed(!isRevealed)}>
          {isRevealed ? "Hide" : "Reveal"}
        </Button>
        <CopyButton text={secret ?? ""} label="Copy the secret" />
      </div>
    </Dialog>
  );
}

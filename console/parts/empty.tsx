/** States of a view that has nothing to show: empty, failed, still reading. */

import type { ReactNode } from "react";
import { TightbeamError } from "../../sdk/errors.ts";
import { Button } from "./button.tsx";
import { CopyId } from "./copy.tsx";
import { Icon, type IconName } from "./icons.tsx";

/** An empty view: what would be here, and the verb that fills it. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center px-6 py-16 text-center">
      <span className="mb-3 flex size-10 items-center justify-center rounded-full bg-hover text-soft">
        <Icon name={icon} size={18} />
      </span>
      <h2 className="text-base font-semibold">{title}</h2>
      {children !== undefined && <div className="mt-1 text-soft">{children}</div>}
      {action !== undefined && <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

/** A failed read: the service's own sentence, and the way to try again. */
export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const refusal = error instanceof TightbeamError ? error : null;
  return (
    <div role="alert" className="mx-auto flex max-w-md flex-col items-center px-6 py-16 text-center">
      <span className="mb-3 flex size-10 items-center justify-center rounded-full bg-bad-soft text-bad">
        <Icon name="warning" size={18} />
      </span>
      <h2 className="text-base font-semibold">
        {refusal?.code === "CONNECTION_FAILED" ? "The service does not answer" : "This could not be read"}
      </h2>
      <p className="mt-1 text-soft">{error instanceof Error ? error.message : String(error)}</p>
      {refusal?.requestId != null && <CopyId id={refusal.requestId} />}
      {onRetry !== undefined && (
        <Button className="mt-4" icon="retry" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A quiet placeholder while something is read. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-3 p-4">
      {Array.from({ length: rows }, (_, row) => row).map((row) => (
        <div key={row} className="pulse-dot h-4 rounded bg-hover" style={{ width: `${90 - ((row * 17) % 45)}%` }} />
      ))}
    </div>
  );
}

/** The health of the service: each check, and what mends it beside it. */

import { Link } from "wouter";
import { useConnected } from "../../api/context.ts";
import { useHealth, useInstances, useServiceDetails } from "../../api/service.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { buttonClass } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Failed, Loading } from "../../parts/empty.tsx";
import { Panel } from "../../parts/fields.tsx";
import { findCure, titleOfCheck } from "./health-checks.ts";

/** The panel. */
export function HealthPanel() {
  const found = useHealth();
  // An admin sees each instance; while the database is out of reach, the health without a key is all there is.
  const details = useServiceDetails();
  const instances = useInstances().data ?? [];
  if (found.isPending) return <Loading rows={3} />;
  if (found.data === undefined) return <Failed error={found.error} onRetry={() => void found.refetch()} />;
  const { status, checks } = details.data?.health ?? found.data;
  return (
    <Panel title="Health" aside={<StatusBadge status={status} />}>
      <ul aria-label="Checks">
        {Object.entries(checks).map(([name, check]) => (
          <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2 last:border-b-0">
            <span className="min-w-0 flex-1 font-medium">{titleOfCheck(name, instances)}</span>
            {check.status !== "ok" && <Cure name={name} />}
            <StatusBadge status={check.status} />
            {check.message !== undefined && <p className="w-full text-soft">{check.message}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Cure({ name }: { name: string }) {
  const { session } = useConnected();
  const cure = findCure(name, session.scope);
  if ("path" in cure) {
    return (
      <Link href={cure.path} className={buttonClass()}>
        {cure.verb}
      </Link>
    );
  }
  return (
    <span className="flex items-center font-mono text-xs text-soft">
      {cure.command}
      <CopyButton text={cure.command} label="Copy the command" />
    </span>
  );
}

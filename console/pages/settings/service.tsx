/** The service itself: its health, the sandbox's clock, and this session with it. */

import { useConnected } from "../../api/context.ts";
import { Fields, Panel } from "../../parts/fields.tsx";
import { Time } from "../../parts/time.tsx";
import { ClockPanel } from "./clock-panel.tsx";
import { DatabasePanel } from "./database-panel.tsx";
import { HealthPanel } from "./health-panel.tsx";

/** The section. */
export function ServiceSection() {
  const { session } = useConnected();
  return (
    <div className="overflow-y-auto scroll-thin">
      <div className="mx-auto flex max-w-2xl flex-col gap-4 p-4">
        <HealthPanel />
        {session.scope === "admin" && <DatabasePanel />}
        {session.isSandbox && <ClockPanel />}
        <Panel title="This session">
          <div className="p-4">
            <Fields
              fields={[
                ["Key", session.keyName],
                ["Scope", session.scope === "admin" ? "Admin: all customers" : "One customer"],
                ["Service", `Tightbeam ${session.version}`],
                ["Numbers", session.isSandbox ? "All on the sandbox" : "Not only on the sandbox"],
                ["Ends unused", <Time key="expires" at={session.expiresAt} isReal />],
              ]}
            />
          </div>
        </Panel>
      </div>
    </div>
  );
}

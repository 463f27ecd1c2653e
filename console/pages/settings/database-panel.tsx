/** The database and its size, for an admin's session. */

import { useServiceDetails } from "../../api/service.ts";
import { Fields, Panel } from "../../parts/fields.tsx";
import { formatBytes } from "../../parts/formats.ts";
import { Read } from "../../parts/read.tsx";

/** The panel. */
export function DatabasePanel() {
  const found = useServiceDetails();
  return (
    <Panel title="Database">
      <div className="p-4">
        <Read found={found}>
          {({ database: { engine, bytes, walBytes } }) => (
            <Fields
              fields={[
                ["Kind", engine === "sqlite" ? "Embedded (SQLite)" : "PostgreSQL"],
                ["Size", formatBytes(bytes)],
                ["Write-ahead log", walBytes === null ? null : formatBytes(walBytes)],
              ]}
            />
          )}
        </Read>
      </div>
    </Panel>
  );
}

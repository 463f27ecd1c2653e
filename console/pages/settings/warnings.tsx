/** Problems that an operator has to fix, in the service's own words. */

import { Icon } from "../../parts/icons.tsx";

/** The list; nothing if there are none. */
export function Warnings({ warnings }: { warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul aria-label="To fix" className="flex flex-col gap-2 rounded-lg bg-warn-soft px-3 py-2 text-warn">
      {warnings.map((warning) => (
        <li key={warning} className="flex gap-2">
          <Icon name="warning" className="mt-0.5" />
          <span className="min-w-0 flex-1">{warning}</span>
        </li>
      ))}
    </ul>
  );
}

/** The sheet of keys: those that work on the present screen. */

import { Kbd } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { paletteKey, useBoundKeys } from "../parts/keys.ts";

const NAMES: Record<string, string> = { "Mod+k": paletteKey(), Escape: "Esc", Enter: "↵" };

/** The sheet. */
export function KeyHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const keys = useBoundKeys();
  return (
    <Dialog open={open} onClose={onClose} title="Keys">
      <dl className="grid grid-cols-[4.5rem_1fr] gap-y-2">
        {keys.map(({ key, label }) => (
          <div key={key} className="contents">
            <dt>
              <Kbd>{NAMES[key] ?? key}</Kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-4 text-soft">
        Everything else is in{" "}
        <a href="/docs" className="text-accent underline underline-offset-2">
          the documentation
        </a>
        .
      </p>
    </Dialog>
  );
}

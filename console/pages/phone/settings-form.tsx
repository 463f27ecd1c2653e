/** How a phone behaves: switches and numbers that hold at once. */

import type { PhoneSettings } from "../../../sdk/wire.ts";
import { useChangePhone, usePhoneSettings } from "../../api/phones.ts";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Failed, Loading } from "../../parts/empty.tsx";
import { FIELD_LOOK } from "../../parts/form.tsx";
import { snippetsOf } from "../../parts/snippets.ts";
import type { NoteAct } from "./recording.ts";

type Flag = "online" | "imessage" | "readReceipts" | "edits";

const FLAGS: readonly { name: Flag; title: string; says: string }[] = [
  { name: "online", title: "Online", says: "Off: messages stay sent until it is on again." },
  { name: "imessage", title: "iMessage", says: "Off: messages fall back to SMS." },
  { name: "readReceipts", title: "Read receipts", says: "The contact reads iMessages 200 ms after their delivery." },
  { name: "edits", title: "Edits", says: "Off: an edit of a message to this phone fails." },
];

const NUMBERS = [
  { name: "latencyMs", title: "Latency", unit: "ms before each receipt", max: 600_000, step: 100, round: Math.round },
  {
    name: "lossPercent",
    title: "Loss",
    unit: "% of messages, accepted and then lost",
    max: 100,
    step: 5,
    round: Number,
  },
] as const;

interface NumberRowProps {
  row: (typeof NUMBERS)[number];
  value: number;
  onSet: (value: number) => void;
}

/** A number that holds once it is left or Enter is pressed. The field then shows the number that holds. */
function NumberRow({ row: { title, unit, max, step, round }, value, onSet }: NumberRowProps) {
  const take = (input: HTMLInputElement) => {
    const typed = Number.isNaN(input.valueAsNumber) ? value : input.valueAsNumber;
    const taken = Math.min(max, Math.max(0, round(typed)));
    input.value = String(taken);
    onSet(taken);
  };
  return (
    <label className="flex items-center gap-3">
      <span className="w-16 shrink-0 font-medium">{title}</span>
      <input
        type="number"
        min={0}
        max={max}
        step={step}
        defaultValue={value}
        key={value}
        className={`h-8 w-24 shrink-0 px-2 tabular-nums ${FIELD_LOOK}`}
        onBlur={(event) => take(event.currentTarget)}
        onKeyDown={(event) => event.key === "Enter" && take(event.currentTarget)}
      />
      <span className="text-xs text-faint">{unit}</span>
    </label>
  );
}

/** The form. */
export function PhoneSettingsForm({ number, onAct }: { number: string; onAct: NoteAct }) {
  const found = usePhoneSettings(number);
  const change = useChangePhone(number);
  if (found.isPending) return <Loading />;
  if (found.data === undefined) return <Failed error={found.error} onRetry={() => void found.refetch()} />;
  const set = (settings: Partial<PhoneSettings>) =>
    onAct(change.mutateAsync(settings).then(() => ({ does: "set", number, settings })));
  const settings = found.data;
  const path = `/v1/sandbox/phones/${number}/settings`;
  return (
    <div className="flex flex-col gap-4">
      {FLAGS.map(({ name, title, says }) => (
        <label key={name} className="flex items-start gap-3">
          <input
            type="checkbox"
            className="mt-0.5 size-4 accent-[var(--accent-solid)]"
            checked={settings[name]}
            onChange={(event) => set({ [name]: event.target.checked })}
          />
          <span>
            <span className="font-medium">{title}</span>
            <span className="block text-xs text-faint">{says}</span>
          </span>
        </label>
      ))}
      {NUMBERS.map((row) => (
        <NumberRow
          key={row.name}
          row={row}
          value={settings[row.name]}
          onSet={(value) => value !== settings[row.name] && set({ [row.name]: value })}
        />
      ))}
      <CodeBlock
        label="The settings as a request"
        snippets={snippetsOf(
          {
            method: "PUT",
            path,
            body: settings,
            typescript: `tightbeam.sandbox.phone("${number}").change(${JSON.stringify(settings)})`,
          },
          location.origin,
        )}
      />
    </div>
  );
}

/** Phone: the sandbox's people, and one or two of their phones. The reader writes here as the contact. */

import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useConnected } from "../../api/context.ts";
import { useContacted } from "../../api/phones.ts";
import { numberInPath, pathOfPhone, shortenAddress } from "../../parts/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { usePreference } from "../../parts/preference.ts";
import type { ScreenProps } from "../../parts/screen.ts";
import { Handset } from "./handset.tsx";
import { PEOPLE, personOf, YOU } from "./people.ts";
import { RecordBar } from "./record-bar.tsx";
import { useRecorder } from "./recorder.ts";
import { PhoneSettingsForm } from "./settings-form.tsx";
import { usePerson } from "./use-person.ts";

/** The screen of `/phone` and `/phone/:number`; `?beside=` names a second phone. */
export function Phone({ params }: ScreenProps) {
  const { session } = useConnected();
  if (!session.isSandbox) {
    return (
      <Empty icon="phone" title="Only the sandbox has phones">
        Numbers of this service reach people. What they write is in Messages.
      </Empty>
    );
  }
  return <Phones number={params.number === undefined ? YOU : numberInPath(params.number)} />;
}

function Phones({ number }: { number: string }) {
  const [, navigate] = useLocation();
  const [query] = useSearchParams();
  const beside = query.get("beside");
  const recorder = useRecorder();
  const [settingsOf, setSettingsOf] = useState<string | null>(null);
  const show = (first: string, second: string | null) =>
    navigate(pathOfPhone(first) + (second === null ? "" : `?beside=${encodeURIComponent(second)}`));
  const { name } = usePerson(settingsOf ?? number);
  const numbers = beside === null || beside === number ? [number] : [number, beside];
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <People number={number} beside={beside} onPick={(next) => show(next, beside === next ? null : beside)} />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <RecordBar recorder={recorder}>
          <WireButton />
          {numbers.length === 1 ? (
            <Button
              icon="plus"
              className="max-sm:hidden"
              onClick={() => show(number, number === YOU ? "+15005550110" : YOU)}
            >
              Second phone
            </Button>
          ) : (
            <Button icon="close" onClick={() => show(number, null)}>
              One phone
            </Button>
          )}
        </RecordBar>
        <div className="flex min-h-0 flex-1 justify-center-safe gap-6 overflow-x-auto p-3 sm:p-5">
          {numbers.map((one) => (
            <Handset
              key={one}
              number={one}
              others={numbers.filter((other) => other !== one)}
              onAct={recorder.note}
              onSettings={() => setSettingsOf(one)}
            />
          ))}
        </div>
      </div>
      <Drawer open={settingsOf !== null} onClose={() => setSettingsOf(null)} title={`The phone of ${name}`}>
        {settingsOf !== null && <PhoneSettingsForm number={settingsOf} onAct={recorder.note} />}
      </Drawer>
    </div>
  );
}

/** Shows the Wire beside the phone: cause beside effect. */
function WireButton() {
  const [wire, setWire] = usePreference("wire", "closed");
  if (wire === "open") return null;
  return (
    <Button icon="wire" hint="~" onClick={() => setWire("open")}>
      Wire
    </Button>
  );
}

interface PeopleProps {
  number: string;
  beside: string | null;
  onPick: (number: string) => void;
}

/** The people; strangers that somebody has written with come last. A narrow page has them in a list to choose from. */
function People({ number, beside, onPick }: PeopleProps) {
  const contacted = useContacted();
  const known = new Set(PEOPLE.map((one) => one.number));
  const strangers = [...new Set([...(contacted.data ?? []), number])].filter((one) => !known.has(one));
  const everybody = [...PEOPLE, ...strangers.map(personOf)];
  return (
    <>
      <label className="flex items-center gap-2 border-b px-3 py-2 md:hidden">
        <span className="text-soft">Phone of</span>
        <select
          className="h-8 min-w-0 flex-1 rounded-md border border-strong-line bg-raised px-2"
          value={number}
          onChange={(event) => onPick(event.target.value)}
        >
          {everybody.map((one) => (
            <PersonOption key={one.number} number={one.number} />
          ))}
        </select>
      </label>
      <nav
        aria-label="People of the sandbox"
        className="w-56 shrink-0 overflow-y-auto border-r py-2 scroll-thin max-md:hidden xl:w-64"
      >
        {everybody.map((one) => (
          <PersonRow
            key={one.number}
            number={one.number}
            isShown={one.number === number}
            isBeside={one.number === beside}
            onPick={onPick}
          />
        ))}
      </nav>
    </>
  );
}

function PersonOption({ number }: { number: string }) {
  const { name, behaviour } = usePerson(number);
  return (
    <option value={number}>
      {name === number ? "" : `${name} `}
      {number} – {behaviour}
    </option>
  );
}

function PersonRow({
  number,
  isShown,
  isBeside,
  onPick,
}: {
  number: string;
  isShown: boolean;
  isBeside: boolean;
  onPick: (number: string) => void;
}) {
  const { name, behaviour } = usePerson(number);
  return (
    <button
      type="button"
      title={number}
      aria-current={isShown ? "page" : undefined}
      onClick={() => onPick(number)}
      className={`block w-full px-3 py-1.5 text-left outline-offset-[-2px] ${isShown ? "bg-accent-soft" : isBeside ? "bg-hover" : "hover:bg-hover"}`}
    >
      <span className="flex items-baseline justify-between gap-2">
        <span className={`truncate font-medium ${isShown ? "text-accent" : ""}`}>{name}</span>
        <span className="shrink-0 text-xs text-faint tabular-nums">
          {name === number ? "" : shortenAddress(number)}
        </span>
      </span>
      <span className="block truncate text-xs text-faint">{behaviour}</span>
    </button>
  );
}

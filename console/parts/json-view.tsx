/** JSON as people read it: indented, coloured, with objects that fold. */

import { type ReactNode, useState } from "react";
import { CopyButton } from "./copy.tsx";
import { RecordLink } from "./record-link.tsx";

const FOLDED_FROM_DEPTH = 4;
const INDENT_PX = 16;

/** A value of JSON, with a button that copies it. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  return (
    <div className="relative">
      <div className="absolute top-1 right-1">
        <CopyButton text={JSON.stringify(value, null, 2)} label={`Copy ${label}`} />
      </div>
      <div className="overflow-x-auto p-3 font-mono text-xs leading-5 scroll-thin">
        <Value value={value} depth={0} />
      </div>
    </div>
  );
}

function Value({ value, depth }: { value: unknown; depth: number }): ReactNode {
  if (Array.isArray(value))
    return <Group open="[" close="]" entries={value.map((item) => [null, item])} depth={depth} />;
  if (typeof value === "object" && value !== null) {
    return <Group open="{" close="}" entries={Object.entries(value)} depth={depth} />;
  }
  if (typeof value === "string") {
    const text = JSON.stringify(value);
    return /^(msg|evt|dlv|req|wh)_/.test(value) ? (
      <RecordLink id={value}>{text}</RecordLink>
    ) : (
      <span className="text-good wrap-anywhere">{text}</span>
    );
  }
  return <span className={value === null ? "text-faint" : "text-accent"}>{String(value)}</span>;
}

interface GroupProps {
  open: string;
  close: string;
  entries: readonly (readonly [string | null, unknown])[];
  depth: number;
}

function Group({ open, close, entries, depth }: GroupProps) {
  const [isOpen, setOpen] = useState(depth < FOLDED_FROM_DEPTH);
  if (entries.length === 0) return <span className="text-soft">{open + close}</span>;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        className="rounded text-soft hover:bg-hover"
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? open : `${open} ${entries.length} ${close}`}
      </button>
      {isOpen && (
        <>
          {entries.map(([name, item], index) => (
            <div key={name ?? index} style={{ paddingLeft: INDENT_PX }}>
              {name !== null && <span className="text-soft">{JSON.stringify(name)}: </span>}
              <Value value={item} depth={depth + 1} />
              {index < entries.length - 1 && <span className="text-faint">,</span>}
            </div>
          ))}
          <span className="text-soft">{close}</span>
        </>
      )}
    </>
  );
}

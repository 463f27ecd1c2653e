/** A list with the open record beside it; its id is in the address, and on a narrow page it takes the list's place. */

import type { ReactNode } from "react";
import { useLocation, useSearch } from "wouter";
import { IconButton } from "./button.tsx";
import { capitalized } from "./formats.ts";
import { useKeys } from "./keys.ts";

interface SplitProps {
  /** Noun of a record, and of many: `delivery`, `deliveries`. */
  one: string;
  many: string;
  /** Id of the address; null if it names none. */
  id: string | null;
  /** Path of the list alone. */
  listPath: string;
  /** Path of the list with a record. */
  pathOf: (id: string) => string;
  list: (onOpen: (id: string) => void) => ReactNode;
  detail: (id: string, onClose: () => void) => ReactNode;
}

/** The two sides. The search stays in the address. */
export function Split({ one, many, id, listPath, pathOf, list, detail }: SplitProps) {
  const [, navigate] = useLocation();
  const address = useSearch();
  const tail = address === "" ? "" : `?${address}`;
  const close = () => navigate(listPath + tail);
  useKeys(id === null ? [] : [{ key: "Escape", label: `Close the ${one}`, run: close }]);
  return (
    <div className="flex min-h-0 flex-1">
      <section
        aria-label={`List of ${many}`}
        className={`flex min-h-0 min-w-0 flex-col ${id === null ? "flex-1" : "w-[26rem] shrink-0 border-r max-lg:hidden"}`}
      >
        {list((opened) => navigate(pathOf(opened) + tail, { replace: id !== null }))}
      </section>
      {id !== null && (
        <section
          key={id}
          aria-label={capitalized(one)}
          className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto scroll-thin"
        >
          {detail(id, close)}
        </section>
      )}
    </div>
  );
}

/** The head of an open record: its name in a line with the ways back, and what else stays in view. */
export function DetailHead({
  line,
  onClose,
  children,
}: {
  line: ReactNode;
  onClose: () => void;
  children?: ReactNode;
}) {
  return (
    <header className="flex shrink-0 flex-col gap-2 border-b px-4 py-3">
      <div className="flex min-w-0 items-center gap-2">
        <IconButton label="Back to the list" icon="chevronLeft" className="-ml-2 lg:hidden" onClick={onClose} />
        {line}
        <IconButton label="Close" hint="Esc" icon="close" className="max-lg:hidden" onClick={onClose} />
      </div>
      {children}
    </header>
  );
}

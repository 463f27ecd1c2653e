/** Tabs over a panel each. */

import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

/** One tab; `count` is shown beside its name. */
export interface Tab {
  id: string;
  title: string;
  count?: number | undefined;
  content: ReactNode;
}

/** Tabs in a row. Arrow keys change between them. */
export function Tabs({
  label,
  tabs,
  value,
  onChange,
}: {
  label: string;
  tabs: readonly Tab[];
  value: string;
  onChange: (id: string) => void;
}) {
  return (
    <Base.Root value={value} onValueChange={(id) => onChange(String(id))} className="flex min-h-0 flex-col">
      <Base.List
        aria-label={label}
        className="flex shrink-0 gap-4 overflow-x-auto overflow-y-hidden border-b px-4 scroll-thin"
      >
        {tabs.map(({ id, title, count }) => (
          <Base.Tab
            key={id}
            value={id}
            className="-mb-px h-9 border-b-2 border-transparent font-medium whitespace-nowrap text-soft outline-offset-[-3px] hover:text-text data-[active]:border-accent data-[active]:text-text"
          >
            {title}
            {count !== undefined && <span className="ml-1.5 text-xs font-normal text-faint tabular-nums">{count}</span>}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(({ id, content }) => (
        <Base.Panel key={id} value={id} className="min-h-0 flex-1 outline-offset-[-2px]">
          {content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}

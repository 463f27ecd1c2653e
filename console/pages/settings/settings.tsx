/** Settings: access, channels, records and the service itself, a section each. */

import { type ComponentType, useEffect, useRef } from "react";
import { Link } from "wouter";
import { useConnected } from "../../api/context.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icons.tsx";
import type { ScreenProps } from "../../parts/screen.ts";
import { ConfigurationSection } from "./configuration.tsx";
import { CustomerSection } from "./customers.tsx";
import { InstanceSection } from "./instances.tsx";
import { KeySection } from "./keys.tsx";
import { CALLS, CONTACTS, NUMBERS, OPT_OUTS, PAYMENTS } from "./nouns.tsx";
import { RecordTable } from "./record-table.tsx";
import { findSection, groupSections, isAllowed, SECTIONS, type Section, type SectionId } from "./sections.ts";
import { ServiceSection } from "./service.tsx";
import { SessionSection } from "./sessions.tsx";

const CONTENTS: Record<SectionId, ComponentType> = {
  service: ServiceSection,
  configuration: ConfigurationSection,
  numbers: () => <RecordTable list={NUMBERS} />,
  instances: InstanceSection,
  keys: KeySection,
  sessions: SessionSection,
  customers: CustomerSection,
  contacts: () => <RecordTable list={CONTACTS} />,
  "opt-outs": () => <RecordTable list={OPT_OUTS} />,
  payments: () => <RecordTable list={PAYMENTS} />,
  calls: () => <RecordTable list={CALLS} />,
};

/** The screen of `/settings` and `/settings/:section`. */
export function Settings({ params }: ScreenProps) {
  const { session } = useConnected();
  const section = findSection(params.section);
  return (
    <div className="flex min-h-0 flex-1 max-lg:flex-col">
      <SectionNav at={section} />
      <section aria-label={section?.title ?? "Settings"} className="flex min-h-0 min-w-0 flex-1 flex-col">
        {section === null ? (
          <Empty icon="settings" title="There is no such section">
            The sections are in the list beside.
          </Empty>
        ) : isAllowed(section, session) ? (
          <Content key={section.id} id={section.id} />
        ) : (
          <NeedsAdmin title={section.title} />
        )}
      </section>
    </div>
  );
}

function Content({ id }: { id: SectionId }) {
  const Shown = CONTENTS[id];
  return <Shown />;
}

/** The sections in groups; on a narrow page one line that scrolls. */
function SectionNav({ at }: { at: Section | null }) {
  const { session } = useConnected();
  const current = useRef<HTMLAnchorElement>(null);
  // Newer browsers return a promise from scrollIntoView, and React would call it as the effect's end.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each section that is opened comes into view.
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [at]);
  return (
    <nav
      aria-label="Sections of the settings"
      className="relative flex shrink-0 gap-1 overflow-x-auto border-b px-3 py-2 scroll-thin lg:w-48 lg:flex-col lg:gap-4 lg:overflow-y-auto lg:border-r lg:border-b-0 lg:px-2 lg:py-3"
    >
      {groupSections(SECTIONS).map(([group, sections]) => (
        <div key={group} className="flex gap-1 lg:flex-col lg:gap-px">
          <h2 className="px-2 pb-1 text-xs font-medium text-faint max-lg:sr-only">{group}</h2>
          {sections.map((section) => {
            const isCurrent = section === at;
            return (
              <Link
                key={section.id}
                ref={isCurrent ? current : null}
                href={`/settings/${section.id}`}
                aria-current={isCurrent ? "page" : undefined}
                className={`flex h-7 items-center justify-between gap-2 rounded-md px-2 font-medium whitespace-nowrap ${isCurrent ? "bg-accent-soft text-accent" : "text-soft hover:bg-hover hover:text-text"}`}
              >
                {section.title}
                {!isAllowed(section, session) && (
                  <span title="Needs an admin key">
                    <span className="sr-only">(needs an admin key)</span>
                    <Icon name="lock" size={12} className="text-faint" />
                  </span>
                )}
              </Link>
            );
          })}
        </div>
      ))}
    </nav>
  );
}

function NeedsAdmin({ title }: { title: string }) {
  const { session, leave } = useConnected();
  return (
    <Empty
      icon="lock"
      title={`${title} need an admin key`}
      action={
        <Button icon="out" onClick={leave}>
          Sign in with another key
        </Button>
      }
    >
      This session has the key “{session.keyName}”, which is one customer’s.
      {session.isSandbox && (
        <>
          {" "}
          The admin key of a sandbox is in <span className="font-mono text-xs">credentials.json</span> of its data
          directory.
        </>
      )}
    </Empty>
  );
}

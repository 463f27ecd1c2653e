/** Webhooks: endpoints, deliveries, the types of events, and the check of a signature. */

import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { Loading } from "../../parts/empty.tsx";
import type { ScreenProps } from "../../parts/screen.ts";

// A visit needs one of these: each is loaded when it is shown.
const Endpoints = lazy(async () => ({ default: (await import("./endpoints.tsx")).Endpoints }));
const Deliveries = lazy(async () => ({ default: (await import("./deliveries.tsx")).Deliveries }));
const EventCatalogue = lazy(async () => ({ default: (await import("./event-catalogue.tsx")).EventCatalogue }));
const CheckSignature = lazy(async () => ({ default: (await import("./check-signature.tsx")).CheckSignature }));

const PARTS = [
  { id: "endpoints", title: "Endpoints", content: Endpoints },
  { id: "deliveries", title: "Deliveries", content: Deliveries },
  { id: "events", title: "Events", content: EventCatalogue },
  { id: "check", title: "Check a signature", content: CheckSignature },
] as const;

/** The screen of `/webhooks` and below. */
export function Webhooks({ params: { part = "endpoints", id } }: ScreenProps) {
  const shown = PARTS.find((one) => one.id === part) ?? PARTS[0];
  const Content = shown.content;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <nav
        aria-label="Parts of the webhooks"
        className="flex shrink-0 gap-4 overflow-x-auto overflow-y-hidden border-b px-4 scroll-thin"
      >
        {PARTS.map((one) => (
          <Link
            key={one.id}
            href={one.id === "endpoints" ? "/webhooks" : `/webhooks/${one.id}`}
            aria-current={one === shown ? "page" : undefined}
            className={`-mb-px flex h-10 items-center border-b-2 font-medium whitespace-nowrap outline-offset-[-3px] ${one === shown ? "border-accent text-text" : "border-transparent text-soft hover:text-text"}`}
          >
            {one.title}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<Loading />}>
        <Content id={id ?? null} />
      </Suspense>
    </div>
  );
}

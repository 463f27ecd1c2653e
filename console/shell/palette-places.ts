/** The places that the palette leads to beside the screens: parts, sections, and where each verb is done. Pure. */

import { isAllowed, SECTIONS } from "../pages/settings/sections.ts";
import type { IconName } from "../parts/icons.tsx";

/** A place, found by its title or by its other words. */
export interface PalettePlace {
  title: string;
  path: string;
  icon: IconName;
  /** The place's screen, or where the verb is. */
  hint: string;
  /** More words that people type for it. */
  words?: string;
}

/** The parts of the webhooks' screen, and verbs. A verb leads to the records that it is done to. */
const PLACES: readonly PalettePlace[] = [
  { title: "Endpoints", path: "/webhooks", icon: "webhooks", hint: "Webhooks" },
  { title: "Deliveries", path: "/webhooks/deliveries", icon: "webhooks", hint: "Webhooks", words: "attempts" },
  { title: "Events", path: "/webhooks/events", icon: "webhooks", hint: "Webhooks", words: "types catalogue" },
  { title: "Check a signature", path: "/webhooks/check", icon: "webhooks", hint: "Webhooks", words: "verify secret" },
  { title: "Send a message", path: "/messages", icon: "messages", hint: "Messages", words: "compose write new" },
  { title: "Retry or resend a message", path: "/messages", icon: "retry", hint: "Messages", words: "again failed" },
  { title: "Retry a delivery", path: "/webhooks/deliveries", icon: "retry", hint: "Webhooks · Deliveries" },
  { title: "Replay events", path: "/webhooks", icon: "retry", hint: "Webhooks · Endpoints", words: "missed" },
  { title: "Trigger an event", path: "/webhooks/events", icon: "webhooks", hint: "Webhooks · Events", words: "test" },
  { title: "Add an endpoint", path: "/webhooks", icon: "webhooks", hint: "Webhooks · Endpoints", words: "create new" },
  {
    ...{ title: "Test, pause or resume an endpoint", path: "/webhooks", icon: "webhooks" },
    ...{ hint: "Webhooks · Endpoints", words: "change delete stop" },
  },
  { title: "Rotate an endpoint's secret", path: "/webhooks", icon: "webhooks", hint: "Webhooks · Endpoints" },
  { title: "Write as a contact", path: "/phone", icon: "phone", hint: "Phone", words: "reply react call record" },
];

/** Verbs of a section of the settings. */
const SECTION_VERBS: readonly { title: string; section: string; words?: string }[] = [
  { title: "Move or reset the clock", section: "service", words: "advance time" },
  { title: "Create a key", section: "keys", words: "new add api" },
  { title: "Rotate or revoke a key", section: "keys", words: "delete end" },
  { title: "End a session", section: "sessions", words: "sign out" },
  { title: "Create a customer", section: "customers", words: "new add" },
];

/** All places that a session may open. */
export function placesFor(session: Parameters<typeof isAllowed>[1]): PalettePlace[] {
  const sections = SECTIONS.filter((section) => isAllowed(section, session));
  return [
    ...PLACES,
    ...sections.flatMap(({ id, title }): PalettePlace[] => {
      const path = `/settings/${id}`;
      const verbs = SECTION_VERBS.filter(({ section }) => section === id);
      return [
        { title, path, icon: "settings", hint: "Settings" },
        ...verbs.map(
          ({ section: _, ...verb }): PalettePlace => ({ ...verb, path, icon: "settings", hint: `Settings · ${title}` }),
        ),
      ];
    }),
  ];
}

/** Whether a title and its other words have all words that were typed. */
export function isFound(wanted: string, title: string, words = ""): boolean {
  const text = `${title} ${words}`.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

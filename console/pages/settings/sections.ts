/** The sections of the settings: their addresses, their groups, and the scope of the key that they need. Pure. */

import type { Session } from "../../../sdk/wire.ts";

/** A section. */
export interface Section {
  id: SectionId;
  title: string;
  group: string;
  /** Whether its routes take an admin key. */
  isAdmin?: true;
}

const ROWS = [
  { id: "service", title: "Health and clock", group: "Service" },
  { id: "configuration", title: "Configuration", group: "Service", isAdmin: true },
  { id: "numbers", title: "Numbers", group: "Service" },
  { id: "instances", title: "Instances", group: "Service", isAdmin: true },
  { id: "keys", title: "Keys", group: "Access", isAdmin: true },
  { id: "sessions", title: "Sessions", group: "Access", isAdmin: true },
  { id: "customers", title: "Customers", group: "Access", isAdmin: true },
  { id: "contacts", title: "Contacts", group: "Records" },
  { id: "opt-outs", title: "Opt-outs", group: "Records" },
  { id: "payments", title: "Payments", group: "Records" },
  { id: "calls", title: "Calls", group: "Records" },
] as const;

/** The last part of a section's address. */
export type SectionId = (typeof ROWS)[number]["id"];

/** All sections, in the order of the page. */
export const SECTIONS: readonly Section[] = ROWS;

/** The section of an address; the first one if the address names none, null if there is no such section. */
export function findSection(id: string | undefined): Section | null {
  return SECTIONS.find((section) => section.id === (id ?? "service")) ?? null;
}

/** Whether a session may read a section. */
export function isAllowed({ isAdmin }: Section, { scope }: Pick<Session, "scope">): boolean {
  return isAdmin === undefined || scope === "admin";
}

/** The sections of each group, in order. */
export function groupSections(sections: readonly Section[]): [group: string, sections: readonly Section[]][] {
  return [...Map.groupBy(sections, ({ group }) => group)];
}

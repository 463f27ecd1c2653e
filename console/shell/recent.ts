/** The records that were opened last in this browser, by the addresses of their pages. Pure. */

import { numberInPath } from "../parts/addresses.ts";

/** A record that was opened. */
export interface OpenedRecord {
  path: string;
  /** Noun of the record, for people: before its id or name. */
  noun: string;
  /** Id of the record, or the number of the phone. */
  id: string;
}

const KEPT_MAX = 5;
const NOUNS: Record<string, string> = {
  m: "Message",
  e: "Event",
  d: "Delivery",
  "webhooks/deliveries": "Delivery",
  "webhooks/endpoints": "Endpoint",
  logs: "Request",
  phone: "Phone of",
};

/** The record whose page has this address; null for another page. */
export function recordAt(path: string): OpenedRecord | null {
  const [, page = "", id = ""] = /^\/(m|e|d|logs|phone|webhooks\/(?:deliveries|endpoints))\/([^/?]+)$/.exec(path) ?? [];
  const noun = NOUNS[page];
  return noun === undefined ? null : { path, noun, id: numberInPath(id) };
}

/** The records that were kept as text, the last one first. */
export function openedRecords(kept: string): OpenedRecord[] {
  return kept
    .split("\n")
    .map(recordAt)
    .filter((record) => record !== null);
}

/** The text to keep after the page of an address was opened. */
export function keepOpened(kept: string, path: string): string {
  const opened = recordAt(path);
  if (opened === null) return kept;
  const others = openedRecords(kept).filter(({ id }) => id !== opened.id);
  return [opened, ...others.slice(0, KEPT_MAX - 1)].map((record) => record.path).join("\n");
}

/** Contacts by name wherever an address stands: the name first, the address beside it, so that two people of one name differ. */

import type { Event } from "../../sdk/wire.ts";
import { nameOf } from "../api/contact-book.ts";
import { useContactOf } from "../api/contacts.ts";
import { useNumbers } from "../api/service.ts";
import { numberInApiPath, shortenAddress } from "./addresses.ts";

/** The name of the contact with an address; without a contact the address itself, or `fallback`. */
export function useNameOf(address: string, fallback = address): string {
  const contact = useContactOf(address);
  return (contact === null ? null : nameOf(contact)) ?? fallback;
}

/** The name with the end of the number, for a row; `isWhole`: with the whole address, where there is room. */
export function ContactName({ address, isWhole = false }: { address: string; isWhole?: boolean }) {
  const name = useNameOf(address);
  if (name === address) return <span className="tabular-nums">{address}</span>;
  return (
    <span title={address} className="inline-flex max-w-full items-baseline gap-1.5 align-bottom">
      <span className="truncate">{name}</span>{" "}
      <span className={`text-xs font-normal text-faint tabular-nums ${isWhole ? "truncate" : "shrink-0"}`}>
        {isWhole ? address : shortenAddress(address)}
      </span>
    </span>
  );
}

/** A path of the API, and the name of the contact whose number is in it. */
export function NamedPath({ path }: { path: string }) {
  const number = numberInApiPath(path);
  return (
    <span title={path} className="flex items-baseline gap-2">
      <span className="truncate font-mono text-xs">{path}</span>
      {number !== null && <NameOnly address={number} />}
    </span>
  );
}

/** The name alone, beside a number that stands already; nothing without a contact. */
export function NameOnly({ address }: { address: string }) {
  const name = useNameOf(address, "");
  return name !== "" && <span className="shrink-0 text-xs text-soft">{name}</span>;
}

/** The address of an event's contact: the first that is no number of yours; null without one. */
export function useEventContact(event: Event | undefined): string | null {
  const own = new Set(useNumbers().data?.flatMap(({ phoneNumber, email }) => [phoneNumber, email]));
  const values: Record<string, unknown> = { ...event?.data };
  const addresses = ["contact", "address", "participant", "from", "to"].map((field) => values[field]);
  const isContact = (address: unknown) => typeof address === "string" && own.size > 0 && !own.has(address);
  return addresses.find((address): address is string => isContact(address)) ?? null;
}

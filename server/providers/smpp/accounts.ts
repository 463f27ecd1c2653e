/** Instances of this process by their account: an SMSC may send a receipt over any session of the account. No I/O. */

import { createHash } from "node:crypto";
import type { Applied } from "../provider.ts";
import type { LinkSettings } from "./link.ts";
import type { SmppReceipt } from "./receipts.ts";

/** An instance on an account. */
export interface AccountMember {
  /** Takes in a receipt by the id that the SMSC gave, where that is of a message of this instance. */
  applyReceipt(receipt: SmppReceipt): Promise<Applied>;
}

const accounts = new Map<string, Set<AccountMember>>();

/**
 * Joins those on one account: with the same SMSC, name and password. What one SMSC calls a message is the same for all of
 * them; those of another may give the same id to another message, and are not told of.
 */
export function joinAccount(settings: LinkSettings, member: AccountMember): void {
  const key = keyOf(settings);
  accounts.set(key, (accounts.get(key) ?? new Set()).add(member));
}

export function leaveAccount(settings: LinkSettings, member: AccountMember): void {
  const key = keyOf(settings);
  const members = accounts.get(key);
  members?.delete(member);
  if (members?.size === 0) accounts.delete(key);
}

/** All others on the account. */
export function othersOn(settings: LinkSettings, member: AccountMember): AccountMember[] {
  return [...(accounts.get(keyOf(settings)) ?? [])].filter((other) => other !== member);
}

function keyOf({ host, port, systemId, password }: LinkSettings): string {
  return createHash("sha256")
    .update(JSON.stringify([host, port, systemId, password]))
    .digest("base64url");
}

/** Instances of this process by account, because an SMSC may send a receipt over any session of the account. No I/O. */

import { createHash } from "node:crypto";
import type { Applied } from "../provider.ts";
import type { LinkSettings } from "./link.ts";
import type { SmppReceipt } from "./receipts.ts";

/** An instance with its account. */
export interface AccountMember {
  /** Applies a receipt if its id belongs to a message of this instance. */
  applyReceipt(receipt: SmppReceipt): Promise<Applied>;
  /** Whether a receipt is about a message of this instance: see `ReceiptHandler`. */
  ownsReceipt(receipt: SmppReceipt): Promise<boolean>;
}

const accounts = new Map<string, Set<AccountMember>>();

/**
 * Adds an instance to its account: the same SMSC, system id and password. Message ids are unique within an account
 * only, so receipts are not shared beyond it.
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

/** All other instances on the account. */
export function othersOn(settings: LinkSettings, member: AccountMember): AccountMember[] {
  return [...(accounts.get(keyOf(settings)) ?? [])].filter((other) => other !== member);
}

function keyOf({ host, port, systemId, password }: LinkSettings): string {
  return createHash("sha256")
    .update(JSON.stringify([host, port, systemId, password]))
    .digest("base64url");
}

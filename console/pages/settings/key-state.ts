/** The state of an API key, and its visible part. Pure. */

import type { Key } from "../../../sdk/wire.ts";

/** `replaced` keys work until their grace period ends. */
export type KeyState = "active" | "replaced" | "expired" | "revoked";

/** The state of a key at an instant. */
export function keyStateOf(key: Pick<Key, "revokedAt" | "expiresAt" | "replacedBy">, now: number): KeyState {
  if (key.revokedAt !== null) return "revoked";
  if (key.expiresAt !== null && Date.parse(key.expiresAt) <= now) return "expired";
  return key.replacedBy === null ? "active" : "replaced";
}

/** Whether a key still opens the API. */
export function isWorking(state: KeyState): boolean {
  return state === "active" || state === "replaced";
}

/** The part of a key that the service still knows. */
export function maskedKey({ last4 }: Pick<Key, "last4">): string {
  return `tb_…${last4}`;
}

/** The scope or the permissions of a key, in a few words. */
export function powerOf({ scope, permissions }: Pick<Key, "scope" | "permissions">): string {
  return scope === "admin" ? "admin" : permissions.join(", ");
}

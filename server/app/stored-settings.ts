/** The stored settings that a start depends on: their names, and checks of their values. */

import { ConfigError } from "../config.ts";
import type { CustomerId } from "../core/id.ts";
import { LINK_KEY_BYTES } from "../core/signed-link.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { CLOCK_SHIFT, SHIFT_MS_MAX } from "../engine/sandbox/clock.ts";
import { settingSecretPlace } from "../engine/secret-places.ts";
import { LINK_KEY } from "../engine/signed-links.ts";
import { hasCustomer } from "../store/customers.ts";
import { findSetting } from "../store/settings.ts";

/** Names in the settings table. */
export const SECRET_KEY = "secret-key";
export const FIRST_CUSTOMER = "first-customer";
export const READY_KEY = "ready-key";
export const READY_ADMIN_KEY = "ready-admin-key";
/** Settings whose value is sealed. */
export const SEALED_SETTINGS: readonly string[] = [LINK_KEY];

interface StoredSetting {
  name: string;
  /** Null for a valid value, else the problem. */
  fault(deps: Deps, value: string): string | null | Promise<string | null>;
  /** Arguments of `tightbeam quarantine` that repair it, and the effect. */
  remedy: string;
}

const isKeyId = (_: Deps, value: string) => (/^key_[^ ]+$/.test(value) ? null : "it is not the id of a key");
const DELETE_KEY = "makes the next start generate another key";

const FACTS: readonly StoredSetting[] = [
  {
    name: LINK_KEY,
    fault: openLinkKey,
    remedy: `delete settings ${LINK_KEY} has another one made; download links and instances' hook addresses of before then no longer work`,
  },
  {
    name: CLOCK_SHIFT,
    fault: (_, value) => (isShift(value) ? null : "it is not a number of milliseconds up to ten years"),
    remedy: `delete settings ${CLOCK_SHIFT} puts the clock on the real time`,
  },
  {
    name: FIRST_CUSTOMER,
    fault: async ({ store }, value) =>
      (await hasCustomer(store.db, value as CustomerId)) ? null : "it is not the id of a customer",
    remedy: `set settings ${FIRST_CUSTOMER} value <id> names the customer of TB_API_KEY`,
  },
  { name: READY_KEY, fault: isKeyId, remedy: `delete settings ${READY_KEY} ${DELETE_KEY}` },
  { name: READY_ADMIN_KEY, fault: isKeyId, remedy: `delete settings ${READY_ADMIN_KEY} ${DELETE_KEY}` },
];

/** Throws `ConfigError` for the first invalid setting: one line with the problem and the repair. */
export async function checkSettings(deps: Deps): Promise<void> {
  for (const { name, fault, remedy } of FACTS) {
    const value: unknown = await findSetting(deps.store.db, name);
    if (value === null) continue;
    const found = typeof value === "string" ? await fault(deps, value) : "it is not text";
    if (found === null) continue;
    throw new ConfigError(
      `The setting ${name} in the database cannot be used: ${found}. Restore a backup, or: tightbeam quarantine ${remedy}.`,
    );
  }
}

function openLinkKey({ sealer }: With<"sealer">, value: string): string | null {
  try {
    const key = Buffer.from(sealer.open(value, settingSecretPlace(LINK_KEY)), "base64");
    return key.length === LINK_KEY_BYTES ? null : `it has ${key.length} bytes and not ${LINK_KEY_BYTES}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function isShift(value: string): boolean {
  return /^\d+$/.test(value) && Number(value) <= SHIFT_MS_MAX;
}

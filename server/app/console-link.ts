/** The one-time link that a start on this machine prints. */

import type { KeyId } from "../core/id.ts";
import { isUsable } from "../core/key.ts";
import type { With } from "../engine/engine-deps.ts";
import { createLink } from "../engine/sessions/sign-in.ts";
import { findKey } from "../store/keys.ts";
import { findSetting } from "../store/settings.ts";
import { READY_ADMIN_KEY } from "./stored-settings.ts";

/** A link that signs in with the admin key of the first start; null unless only this machine reaches the service, or without that key. */
export async function consoleLink(deps: With<"publicUrl">): Promise<string | null> {
  if (!deps.settings.isLocalOnly) return null;
  const id = await findSetting(deps.store.db, READY_ADMIN_KEY);
  const key = id === null ? null : await findKey(deps.store.db, id as KeyId);
  if (key === null || !isUsable(key, deps.clock.real())) return null;
  const { token } = await createLink(deps, key);
  return `${deps.publicUrl()}/#link=${token}`;
}

/** Closes what only sandboxes allow in every process, before the first instance that reaches people is stored. */

import { findSetting } from "../../store/settings.ts";
import { CURRENT_MS_MAX } from "../config-snapshot.ts";
import type { With } from "../engine-deps.ts";

/** Name of the setting that says that an instance reaches people, or did. Only a database of several processes has it. */
const LEFT_SANDBOX = "left-sandbox";

/** When a process left the sandbox last, as it is stored; null if none has. */
export async function leftSandboxAt({ store }: Pick<With<never>, "store">): Promise<string | null> {
  return await findSetting(store.db, LEFT_SANDBOX);
}

/**
 * Closes everything that only sandboxes allow: here at once, and in every other process before this resolves. A process that could
 * not compare its configuration for `CURRENT_MS_MAX` has closed it by itself.
 */
export async function leaveSandboxEverywhere(deps: With<"leaveSandbox">): Promise<void> {
  const { clock, store } = deps;
  await deps.leaveSandbox();
  if (store.shared === null) return;
  await store.commit([{ op: "put", table: "settings", record: { name: LEFT_SANDBOX, value: String(clock.real()) } }]);
  await new Promise<void>((resolve) => void clock.after(CURRENT_MS_MAX, resolve));
}

/** The sandbox's clock: how far the whole service is ahead of real time. The shift is stored, so it survives a restart. */

import type { SandboxClock } from "../../../sdk/wire.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { hasRealInstance } from "../../store/instances.ts";
import { findSetting } from "../../store/settings.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { change } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { type IdempotentRequest, idempotent } from "../idempotency.ts";

/** Name of the shift in the settings table. There is no row while the clock is on real time. */
export const CLOCK_SHIFT = "clock-shift";
/** Largest shift: ten years. */
export const SHIFT_MS_MAX = 3_650 * 86_400_000;
/** Serial queue of clock moves. */
const TURN = "clock";

/** The state of the clock. */
export function clockRecord({ clock, shift }: Pick<EngineDeps, "clock" | "shift">): SandboxClock {
  return { now: new Date(clock.now()).toISOString(), offsetMs: shift.ms };
}

/** Reads the shift that was stored last. Call before the first write, so that no record is older than the stored ones. */
export async function restoreClock({ store, shift }: With<"shift">): Promise<void> {
  shift.ms = shiftMsOf(await findSetting(store.db, CLOCK_SHIFT));
}

/** The shift of a stored setting, in milliseconds; 0 if there is none, or none that the clock can have. */
export function shiftMsOf(stored: string | null): number {
  const shiftMs = Number(stored);
  return shiftMs > 0 && shiftMs <= SHIFT_MS_MAX ? shiftMs : 0;
}

/** Reads a shift that another process may have stored. */
export async function rereadClock(deps: With<"shift">): Promise<void> {
  await deps.serial.run(TURN, () => restoreClock(deps));
}

/**
 * Advances the clock by `advanceMs`, or resets it to real time, and wakes due work. Throws 403 `FORBIDDEN` for a
 * customer's key while there are several customers, 409 `CLOCK_LOCKED` while an instance is not a sandbox, and
 * a 400 for a shift of more than ten years.
 */
export async function moveClock(
  deps: With<"configCache" | "shift">,
  request: IdempotentRequest,
  advanceMs: number | "reset",
): Promise<void> {
  await deps.serial.run(TURN, async () => {
    const moved = await idempotent(deps, request, async () => {
      await requireMover(deps, request.customerId);
      if (advanceMs !== "reset") await requireSandboxes(deps);
      const stored = await findSetting(deps.store.db, CLOCK_SHIFT);
      const value = advanceMs === "reset" ? 0 : shiftMsOf(stored) + advanceMs;
      if (value > SHIFT_MS_MAX) throw invalidField("advance", "cannot take the clock more than ten years ahead");
      return { transaction: moveFrom(stored, value), value, result: String(value) };
    });
    if (moved.repeated) return;
    deps.shift.ms = moved.value;
    // An instance may have been created in between: its creation resets the clock before it stores the instance.
    if (await hasReal(deps)) await putBack(deps);
    deps.wake.chores();
  });
  if (advanceMs !== "reset") await requireSandboxes(deps);
}

/** Resets the clock to real time. Called before the first instance that is not a sandbox is stored. */
export async function resetClock(deps: With<"shift">): Promise<void> {
  await deps.serial.run(TURN, () => putBack(deps));
}

async function putBack(deps: With<"shift">): Promise<void> {
  deps.shift.ms = 0;
  await change(deps, async () => {
    const stored = await findSetting(deps.store.db, CLOCK_SHIFT);
    return { transaction: stored === null ? null : moveFrom(stored, 0), value: undefined };
  });
}

/** Sets the shift, unless another process has moved the clock since `stored` was read. */
function moveFrom(stored: string | null, shiftMs: number): Transaction {
  const setting = { table: "settings", scope: CLOCK_SHIFT } as const;
  const name = CLOCK_SHIFT;
  const unmoved: Operation =
    stored === null
      ? { op: "requireNone", ...setting, where: { name } }
      : { op: "require", ...setting, where: { name, value: stored } };
  if (shiftMs === 0) return [unmoved, { op: "delete", table: "settings", where: { name } }];
  return [unmoved, { op: "put", table: "settings", record: { name, value: String(shiftMs) } }];
}

async function hasReal({ store }: Deps): Promise<boolean> {
  return hasRealInstance(store.db);
}

/** The clock is shared, so a customer may not move it if there are several. `customerId` is null for an admin key. */
async function requireMover({ configCache }: With<"configCache">, customerId: CustomerId | null): Promise<void> {
  if (customerId === null || !(await configCache.hasSeveralCustomers())) return;
  const message = "The clock moves for every customer of this server: with more than one, only an admin key moves it.";
  throw new ApiError("FORBIDDEN", message);
}

async function requireSandboxes(deps: Deps): Promise<void> {
  if (!(await hasReal(deps))) return;
  throw new ApiError("CLOCK_LOCKED", "The clock cannot be moved while a provider is connected that reaches people.");
}

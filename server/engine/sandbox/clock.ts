/** The sandbox's clock: how far the service is ahead of the real time. It outlives the process, and is the process's. */

import type { SandboxClock } from "../../../sdk/wire.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { hasRealInstance } from "../../store/instances.ts";
import { findSetting } from "../../store/settings.ts";
import type { Operation } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { type IdempotentRequest, idempotent } from "../idempotency.ts";

/** Name of the shift in the settings table; none is there while the clock is on real time. */
export const CLOCK_SHIFT = "clock-shift";
/** Farthest ahead of the real time: ten years. */
export const SHIFT_MS_MAX = 3_650 * 86_400_000;
/** One move of the clock at a time. */
const TURN = "clock";

/** How the clock stands. */
export function clockRecord({ clock, shift }: Pick<EngineDeps, "clock" | "shift">): SandboxClock {
  return { now: new Date(clock.now()).toISOString(), offsetMs: shift.ms };
}

/** Sets the clock as the last process left it. Before anything is written, so that nothing is older than what is there. */
export async function restoreClock({ store, shift }: With<"shift">): Promise<void> {
  const shiftMs = Number(await findSetting(store.db, CLOCK_SHIFT));
  if (shiftMs > 0 && shiftMs <= SHIFT_MS_MAX) shift.ms = shiftMs;
}

/**
 * Moves the clock on by `advanceMs`, or back to the real time, and wakes what became due. Throws 403 `FORBIDDEN` for a
 * customer's key while there are several customers, 409 `CLOCK_LOCKED` while there is an instance that is no sandbox, and
 * a 400 for more than ten years ahead.
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
      const value = advanceMs === "reset" ? 0 : deps.shift.ms + advanceMs;
      if (value > SHIFT_MS_MAX) throw invalidField("advance", "cannot take the clock more than ten years ahead");
      return { transaction: [keep(value)], value, result: String(value) };
    });
    if (moved.repeated) return;
    deps.shift.ms = moved.value;
    // An instance may have been created meanwhile: its creation resets the clock before the instance is stored, not after.
    if (await hasReal(deps)) await putBack(deps);
    deps.wake.chores();
  });
  if (advanceMs !== "reset") await requireSandboxes(deps);
}

/** Puts the clock back to the real time: before the first instance counts that is no sandbox. */
export async function resetClock(deps: With<"shift">): Promise<void> {
  await deps.serial.run(TURN, () => putBack(deps));
}

async function putBack({ store, shift }: With<"shift">): Promise<void> {
  shift.ms = 0;
  if ((await findSetting(store.db, CLOCK_SHIFT)) !== null) await store.commit([keep(0)]);
}

function keep(shiftMs: number): Operation {
  if (shiftMs === 0) return { op: "delete", table: "settings", where: { name: CLOCK_SHIFT } };
  return { op: "put", table: "settings", record: { name: CLOCK_SHIFT, value: String(shiftMs) } };
}

async function hasReal({ store }: Deps): Promise<boolean> {
  return hasRealInstance(store.db);
}

/** The clock moves for every customer, so one of several may not move it. `customerId` is null for an admin key. */
async function requireMover({ configCache }: With<"configCache">, customerId: CustomerId | null): Promise<void> {
  if (customerId === null || !(await configCache.hasSeveralCustomers())) return;
  const message = "The clock moves for every customer of this server: with more than one, only an admin key moves it.";
  throw new ApiError("FORBIDDEN", message);
}

async function requireSandboxes(deps: Deps): Promise<void> {
  if (!(await hasReal(deps))) return;
  throw new ApiError("CLOCK_LOCKED", "The clock cannot be moved while a provider is connected that reaches people.");
}

/** The move of a customer from one cell to another while both serve. Each step may be repeated. */

import type { Cell } from "./cell.ts";
import type { CellsWorld } from "./cells-world.ts";
import type { Directory } from "./router.ts";

/** Copies while the old cell still serves: what is left for the pause is what changed during the last of them. */
const COPIES_BEFORE = 2;
const ASK_AGAIN_MS = 20;
/** The mover may be slow between two steps, or start again after one. */
const STEP_MS_MAX = 400;

/**
 * Moves a customer. The old cell serves until it is fenced, nobody serves until the rest is copied, and then the new cell
 * does. A cell that dies meanwhile delays the move until it is back.
 */
export async function moveCustomer(
  world: CellsWorld,
  directory: Directory,
  customer: string,
  target: Cell,
): Promise<void> {
  const { cell: source, version: old } = directory.placements.get(customer) ?? fail(`${customer} has no cell`);
  if (source === target) return;
  const version = old + 1;
  let position = 0;
  const copy = async () => {
    const changes = await world.callUntilReply(() => source.read(customer, position));
    const written = await world.callUntilReply(() => target.write(customer, version, changes));
    if (written === "refused") fail(`${target.name} refused a copy of ${customer}`);
    position = changes.position;
  };
  const fence = async () => {
    while (!(await world.callUntilReply(() => source.fence(customer, version)))) await world.pause(ASK_AGAIN_MS);
  };
  const serve = async () => {
    await world.callUntilReply(() => target.serve(customer, version));
    directory.placements.set(customer, { cell: target, version });
  };
  const forget = () => world.callUntilReply(() => source.forget(customer, version));
  const last = world.holds("changes after the first copy are copied") ? [copy] : [];
  const end = world.holds("the old cell stops before the new cell serves")
    ? [fence, ...last, serve, forget]
    : [copy, serve, fence, forget];
  for (const step of [...Array.from({ length: COPIES_BEFORE }, () => copy), ...end]) {
    await step();
    await world.pause(world.chance.between(1, STEP_MS_MAX));
  }
}

function fail(reason: string): never {
  throw new Error(reason);
}

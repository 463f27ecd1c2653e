/** Fences of the service that `npm run cluster -- --sabotage` removes, each by a change of one source. */

export interface Sabotage {
  name: string;
  /** The source, from the root of the repository. */
  file: string;
  /** Text that the source has exactly once, and its replacement. */
  text: string;
  replacement: string;
}

export const SABOTAGES: readonly Sabotage[] = [
  {
    // A request that is repeated after its process died makes a second message.
    name: "idempotency",
    file: "server/engine/idempotency.ts",
    text: "if (key === null) {",
    replacement: "if (key !== undefined) {",
  },
  {
    // After a kill, a message is sent again without asking the carrier whether it has it.
    name: "reconcile",
    file: "server/engine/messages/reconcile.ts",
    text: 'return await withDeadline<Outcome | "absent">(deps.clock, abort, () => question(asked), late);',
    replacement: 'await question(asked); return "absent";',
  },
];

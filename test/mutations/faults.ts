/**
 * Faults that break a promise of `docs/guarantees.md`, each planted by a change of one source. `npm run test:mutations` plants one after
 * the other and demands that a quick test fails.
 */

export interface Fault {
  name: string;
  /** The source, from the root of the repository. */
  file: string;
  /** Text that the source has exactly once, and its replacement. */
  text: string;
  replacement: string;
  /** The quick test file that fails with the fault planted. */
  caughtBy: string;
  /** The fault removes a fence that `npm run cluster` needs, whose run must fail too. */
  isFence?: true;
}

export const FAULTS: readonly Fault[] = [
  {
    name: "events of one type make no deliveries",
    file: "server/core/delivery.ts",
    text: "endpoints.filter((endpoint) => subscribes(endpoint, event.type))",
    replacement:
      'endpoints.filter((endpoint) => subscribes(endpoint, event.type) && event.type !== "message.audio_kept")',
    caughtBy: "test/api/delivered.test.ts",
  },
  {
    name: "SQLite commits without a sync",
    file: "server/store/sqlite/writer.ts",
    text: 'exec("begin immediate")',
    replacement: 'exec("pragma synchronous = normal; begin immediate")',
    caughtBy: "server/store/sqlite/durable.test.ts",
  },
  {
    name: "PostgreSQL commits without a flush",
    file: "server/store/postgres/in-transaction.ts",
    text: "export const IN_TRANSACTION: readonly Setting[] = [",
    replacement: 'export const IN_TRANSACTION: readonly Setting[] = [["synchronous_commit", "off"], ',
    caughtBy: "server/store/postgres/durable.test.ts",
  },
  {
    name: "a transaction on a full disk is answered as committed",
    file: "server/store/sqlite/writer.ts",
    text: 'if (refused.error === "full" || jobs.length === 1) return jobs.map(() => refused);',
    replacement: 'if (refused.error === "full") return jobs.map(() => ({ value: { result: "ok", lanes: [] } }));',
    caughtBy: "server/store/sqlite/faults.test.ts",
  },
  {
    name: "SQLite updates a record from an old version",
    file: "server/store/sqlite/writer.ts",
    text: 'operation[0] === "update" && this.#isConflict(operation[1], operation[4], operation[5])',
    replacement: 'operation[0] === "update" && operation[5] < 0',
    caughtBy: "server/store/sqlite/store.test.ts",
  },
  {
    name: "SQLite lets a process write that has lost its lease",
    file: "server/store/sqlite/writer.ts",
    text: '"requireEpoch" && !this.#members.has({ lease: operation[1], epoch: operation[2] })',
    replacement: '"requireEpoch" && !this.#members.has({ lease: operation[1], epoch: 0 }) && operation[2] < 0',
    caughtBy: "server/store/sqlite/store.test.ts",
  },
  {
    // A request that is repeated makes a second message.
    name: "idempotency",
    file: "server/engine/idempotency.ts",
    text: "if (key === null) {",
    replacement: "if (key !== undefined) {",
    caughtBy: "server/engine/idempotency.test.ts",
    isFence: true,
  },
  {
    name: "a reused idempotency key answers another request",
    file: "server/engine/idempotency.ts",
    text: "if (first.fingerprint === fingerprint) return",
    replacement: "if (first.fingerprint !== null) return",
    caughtBy: "test/api/idempotency.test.ts",
  },
  {
    // After a kill, a message is sent again without asking the carrier whether it has it.
    name: "reconcile",
    file: "server/engine/messages/reconcile.ts",
    text: 'return await withDeadline<Outcome | "absent">(deps.clock, abort, () => question(asked), late);',
    replacement: 'await question(asked); return "absent";',
    caughtBy: "server/engine/messages/reconcile.test.ts",
    isFence: true,
  },
  {
    name: "an unknown outcome is never given up",
    file: "server/engine/messages/reconcile.ts",
    text: "now - since >= UNKNOWN_MS_MAX && !held",
    replacement: "now < since && !held",
    caughtBy: "server/engine/messages/reconcile.test.ts",
  },
  {
    name: "messages of a pair are sent beside each other",
    file: "server/engine/messages/pair-order.ts",
    text: "const before = this.#last.get(pair) ?? NOBODY;",
    replacement: "const before = NOBODY;",
    caughtBy: "server/engine/messages/dispatch-order.test.ts",
  },
  {
    name: "a recorded attempt overtakes the one before it",
    file: "server/engine/messages/make-attempt.ts",
    text: "  await progress.turn;\n",
    replacement: "",
    caughtBy: "server/engine/messages/dispatch-order.test.ts",
  },
  {
    name: "later messages overtake one that the carrier throttled",
    file: "server/engine/messages/dispatch.ts",
    text: "this.#waiting.handled(message, result, deferredUntil);",
    replacement: "this.#waiting.handled(message, result, null);",
    caughtBy: "server/engine/messages/deferred-order.test.ts",
  },
  {
    name: "a STOP during the fetch of files is not obeyed",
    file: "server/engine/messages/make-attempt.ts",
    text: 'if (await failIfOptedOut(deps, attempted)) return "bad";',
    replacement: "",
    caughtBy: "server/engine/contacts/opted-out.test.ts",
  },
  {
    name: "a message to a contact who wrote STOP is accepted",
    file: "server/engine/messages/accept.ts",
    text: "await requireNoOptOut(deps, recipient);",
    replacement: "",
    caughtBy: "test/api/opt-outs.test.ts",
  },
  {
    name: "an inbound message that is reported twice is received twice",
    file: "server/engine/messages/receive.ts",
    text: "if (await isRecorded(deps, instanceId, signal.reference)) {",
    replacement: "if (signal.reference === null) {",
    caughtBy: "server/engine/messages/receive.test.ts",
  },
  {
    name: "a late receipt moves a message back",
    file: "server/core/message-lifecycle.ts",
    text: 'delivered: { pending: "delivered", sent: "delivered", failed: "delivered" },',
    replacement: 'delivered: { pending: "delivered", sent: "delivered", failed: "delivered", read: "delivered" },',
    caughtBy: "server/core/message-lifecycle.test.ts",
  },
  {
    name: "events of a message have no order",
    file: "server/core/message-lifecycle.ts",
    text: "sequence: change.message.sequence + 1,",
    replacement: "sequence: change.message.sequence,",
    caughtBy: "server/core/message-lifecycle.test.ts",
  },
  {
    name: "a redirect counts as a received webhook",
    file: "server/core/delivery.ts",
    text: "status >= 200 && status < 300",
    replacement: "status >= 200 && status < 400",
    caughtBy: "server/core/delivery.test.ts",
  },
  {
    name: "the mark that an endpoint is gone ends the wait that its receiver asked for",
    file: "server/engine/webhooks/deliver.ts",
    text: " && isMark !== true",
    replacement: "",
    caughtBy: "server/engine/webhooks/deliver-gone.test.ts",
  },
  {
    name: "a read takes what has left the hand since it was asked for",
    file: "server/engine/queue/in-hand.ts",
    text: "state.reading?.left.add(id);",
    replacement: "",
    caughtBy: "server/engine/queue/in-hand.test.ts",
  },
  {
    name: "a read overtakes what was given back since it was asked for",
    file: "server/engine/queue/in-hand.ts",
    text: "if (isFull || isBehindMissed || left.has(id)) continue;",
    replacement: "if (isFull || left.has(id)) continue;",
    caughtBy: "server/engine/queue/in-hand.test.ts",
  },
  {
    name: "a new delivery goes before others of its lane that are on disk",
    file: "server/engine/queue/in-hand.ts",
    text: "if (!state.isBehind && hasRoom)",
    replacement: "if (hasRoom)",
    caughtBy: "server/engine/queue/in-hand.test.ts",
  },
  {
    name: "a read does not go back to what another process has put before its place",
    file: "server/store/postgres/due-reads.ts",
    text: "when put.due_at <= r.due_at then put.due_at",
    replacement: "when false then put.due_at",
    caughtBy: "server/store/postgres/delivery-queue.test.ts",
  },
  {
    name: "a lane counts as seen although all that was found had no room",
    file: "server/store/postgres/delivery-queue.ts",
    text: "if (taken.length > 0 || isEnd) this.#note",
    replacement: "this.#note",
    caughtBy: "server/store/postgres/delivery-queue.test.ts",
  },
  {
    name: "a new delivery goes before what another process has put into its lane",
    file: "server/store/postgres/due-reads.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: text of a source.
    text: "coalesce((select true from ${others} limit 1), false)::int",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: text of a source.
    replacement: "(coalesce((select true from ${others} limit 1), false) and false)::int",
    caughtBy: "server/store/postgres/delivery-pushes.test.ts",
  },
  {
    name: "a key that another process takes between the check and the insert fails the group",
    file: "server/store/postgres/writer.ts",
    text: " || isTaken(error)",
    replacement: "",
    caughtBy: "server/store/postgres/requirements.test.ts",
  },
  {
    name: "a transaction does not see what an earlier one of its group has changed",
    file: "server/store/postgres/decisions.ts",
    text: "      seen.note(operation);",
    replacement: "",
    caughtBy: "server/store/postgres/decisions.test.ts",
  },
  {
    name: "a member that was taken for dead keeps its lanes beside their next owner",
    file: "server/store/postgres/member-leases.ts",
    text: "connections.alone([BEFORE], { text: BEAT",
    replacement: "connections.alone([], { text: BEAT",
    caughtBy: "server/store/postgres/member-leases.test.ts",
  },
  {
    name: "a member uses its lanes until another one may take them over",
    file: "server/engine/members/shared-membership.ts",
    text: "SHARD_OF.has(lease) ? DEAD_AFTER_MS : LEASE_MS",
    replacement: "LEASE_MS",
    caughtBy: "server/engine/members/shared-membership.test.ts",
  },
  {
    name: "a lane is released with attempts in flight",
    file: "server/engine/members/shared-membership.ts",
    text: "inUse.has(",
    replacement: "inUse.has(-1 * ",
    caughtBy: "server/engine/members/shared-membership.test.ts",
  },
  {
    name: "an attempt whose end was not answered counts twice",
    file: "server/engine/webhooks/record-attempt.ts",
    text: "if (hasAttempt(fresh, ended)) return null;",
    replacement: "",
    caughtBy: "server/engine/webhooks/deliver-in-hand.test.ts",
  },
  {
    name: "a retry by hand during an attempt is lost",
    file: "server/core/delivery.ts",
    text: "delivery.retriesAsked > begun.retriesAsked && delivery.dueAt !== null",
    replacement: "false",
    caughtBy: "server/core/delivery.test.ts",
  },
  {
    name: "the retry schedule loses its first delay",
    file: "server/core/retry.ts",
    text: "const delayMs = schedule[retry];",
    replacement: "const delayMs = schedule[retry + 1];",
    caughtBy: "server/core/retry.test.ts",
  },
  {
    name: "a signature does not cover the time",
    file: "server/core/signature.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: text of a source.
    text: "own.sign(`${timestamp}.`, body",
    replacement: 'own.sign("", body',
    caughtBy: "server/core/signature.test.ts",
  },
  {
    name: "webhooks reach private addresses",
    file: "server/outgoing/connection.ts",
    text: 'return protocol === "https:" && isPublicAddress(ip);',
    replacement: 'return protocol === "https:" && ip !== "";',
    caughtBy: "server/outgoing/connection.test.ts",
  },
  {
    name: "a name with one private address among public ones is permitted",
    file: "server/outgoing/connection.ts",
    text: "if (!addresses.every(permitted))",
    replacement: "if (!addresses.some(permitted))",
    caughtBy: "server/outgoing/connection.test.ts",
  },
  {
    name: "a customer reads another customer's message",
    file: "server/store/messages.ts",
    text: "return message?.customerId === customerId ? message : null;",
    replacement: "return message;",
    caughtBy: "test/api/isolation.test.ts",
  },
  {
    name: "a revoked key is accepted",
    file: "server/core/key.ts",
    text: "return apiKey.revokedAt === null && (",
    replacement: "return (",
    caughtBy: "server/core/key.test.ts",
  },
  {
    name: "a rate limit counts nothing",
    file: "server/core/rate-limit.ts",
    text: "if (allowed) window.used += 1;",
    replacement: "",
    caughtBy: "server/core/rate-limit.test.ts",
  },
  {
    name: "the password of a Mac is shown",
    file: "server/core/instance.ts",
    text: 'bluebubbles: ["password"],',
    replacement: "bluebubbles: [],",
    caughtBy: "test/api/instances.test.ts",
  },
  {
    name: "one slow look silences a loop for minutes",
    file: "server/core/look-pause.ts",
    text: "return Math.min(Math.max(msMin, tookMs * costFactor), msMax);",
    replacement: "return Math.max(msMin, tookMs * costFactor, msMax - msMax);",
    caughtBy: "server/engine/lanes.test.ts",
  },
  {
    name: "a restarted Mac is believed at once",
    file: "server/providers/bluebubbles/reconcile.ts",
    text: "const AFTER_RESTART_MS = 75_000;",
    replacement: "const AFTER_RESTART_MS = 15_000;",
    caughtBy: "server/providers/bluebubbles/reconcile-restart.test.ts",
  },
  {
    name: "a passed request may be repeated",
    file: "server/outgoing/hop.ts",
    text: "if (this.#seen.has(id)) return USED;",
    replacement: "",
    caughtBy: "test/api/hop.test.ts",
  },
  {
    name: "a request that was passed to one process counts at another one",
    file: "server/outgoing/hop.ts",
    text: "JSON.stringify([recipient, at,",
    replacement: "JSON.stringify([at,",
    caughtBy: "test/api/hop.test.ts",
  },
  {
    name: "a wake counts with another body",
    file: "server/outgoing/wake-signature.ts",
    text: "return (body) => hashOf(body) === hash;",
    replacement: "return () => true;",
    caughtBy: "test/api/wake-requests.test.ts",
  },
  {
    name: "the process that sends a message is not woken",
    file: "server/engine/engine.ts",
    text: "others.messages(lanes);",
    replacement: "",
    caughtBy: "test/api/wakes.test.ts",
  },
  {
    name: "anybody may name the client of a sign-in",
    file: "server/core/client-address.ts",
    text: "if (!inRanges(trusted, peer)) return",
    replacement: "if (!inRanges(trusted, peer) && forwardedFor === undefined) return",
    caughtBy: "server/core/client-address.test.ts",
  },
  {
    name: "a key with read alone sees a signing secret",
    file: "server/api/inbox.ts",
    text: 'secret: key.permissions.includes("webhooks") ? inbox.secret : null',
    replacement: "secret: inbox.secret",
    caughtBy: "test/api/permissions.test.ts",
  },
  {
    name: "a replay fills the queue",
    file: "server/engine/webhooks/replay-pages.ts",
    text: "const WAITING_MAX = 5_000;",
    replacement: "const WAITING_MAX = 50_000;",
    caughtBy: "test/api/replay-turns.test.ts",
  },
  {
    name: "a replay of failures sends what was answered with 2xx",
    file: "server/core/replay.ts",
    text: 'status === "succeeded" || isUntried(status, attemptCount)',
    replacement: "isUntried(status, attemptCount)",
    caughtBy: "test/api/replays.test.ts",
  },
];

/** The fault of this name. Throws if there is none. */
export function faultNamed(name: string): Fault {
  const fault = FAULTS.find((one) => one.name === name);
  if (fault === undefined) throw new Error(`there is no fault "${name}" in test/mutations/faults.ts`);
  return fault;
}

/** The source with the fault planted. Throws if the source does not have the fault's text exactly once. */
export function plant({ file, text, replacement }: Fault, source: string): string {
  const parts = source.split(text);
  if (parts.length !== 2) throw new Error(`${file} has "${text}" ${parts.length - 1} times`);
  return parts.join(replacement);
}

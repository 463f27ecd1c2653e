/** Routes of the sandbox as a whole: its clock and its reset. */

import { SetClock } from "../../contract/sandbox.ts";
import { IdempotentRequest } from "../../contract/values.ts";
import type { SandboxReset, SetClock as WireSetClock } from "../../sdk/wire.ts";
import { parseDuration } from "../core/duration.ts";
import { invalidField } from "../core/error.ts";
import type { With } from "../engine/engine-deps.ts";
import { clockRecord, moveClock } from "../engine/sandbox/clock.ts";
import { requireSandbox, resetSandbox } from "../engine/sandbox/sandbox.ts";
import { type Route, route } from "./route.ts";

export function clockRoutes(
  deps: With<
    | "configCache"
    | "membership"
    | "messageCache"
    | "optOutCache"
    | "providers"
    | "shift"
    | "threadCache"
    | "typingContacts"
  >,
): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/sandbox/clock",
      scope: "any",
      async handle({ caller: { customerId } }) {
        if (customerId !== null) await requireSandbox(deps, customerId);
        return { data: clockRecord(deps) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sandbox/clock",
      scope: "any",
      body: SetClock,
      async handle({ caller: { customerId }, body, idempotencyKey: key }) {
        if (customerId !== null) await requireSandbox(deps, customerId);
        const { idempotencyKey: _, ...change } = body;
        const request = { key, customerId, route: "POST /v1/sandbox/clock", body: change };
        await moveClock(deps, request, moveOf(change));
        return { data: clockRecord(deps) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sandbox/reset",
      scope: "messages",
      body: IdempotentRequest,
      async handle({ caller: { customerId }, idempotencyKey: key, gone }) {
        await resetSandbox(deps, { key, customerId, route: "POST /v1/sandbox/reset", body: {} }, gone());
        const data: SandboxReset = { reset: true };
        return { data };
      },
    }),
  ];
}

/** The milliseconds to advance by, or `reset`. Throws 400 unless the request has exactly one of the two. */
function moveOf({ advance, reset }: WireSetClock): number | "reset" {
  if ((advance === undefined) === (reset !== true)) {
    throw invalidField("advance", 'give either advance, such as "30s", or reset, which must be true');
  }
  if (advance === undefined) return "reset";
  const ms = parseDuration(advance);
  if (ms !== null && ms > 0) return ms;
  throw invalidField("advance", "must be a positive duration such as 30s, 5m, 2h or 1d: the clock only goes forward");
}

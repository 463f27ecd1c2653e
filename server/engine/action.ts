/**
 * Runs actions that only some providers support (edit, react, type …), each with a deadline, and those of one message
 * or chat in sequence.
 */

import { ApiError } from "../core/error.ts";
import type { CustomerId, InstanceId } from "../core/id.ts";
import { NotRunningHere } from "../core/not-running-here.ts";
import type { Actions } from "../providers/provider.ts";
import { commitInTime } from "./commit.ts";
import type { Deps } from "./deps.ts";
import type { With } from "./engine-deps.ts";

/** Time limit of an action, in real milliseconds: a caller waits for the response. */
const ACTION_MS_MAX = 20_000;

/** Calls an action of a provider. */
type ActionCall<Name extends keyof Actions, Answer> = (
  action: (...parameters: Parameters<Actions[Name]>) => ReturnType<Actions[Name]>,
  abort: AbortSignal,
) => Promise<Answer>;

/**
 * Runs the action `name` of the instance's provider and returns its result. Throws 400 `CHANNEL_NOT_SUPPORTED` if the provider
 * lacks the action, 503 if the instance is not running, 502 `PROVIDER_ERROR` if the provider throws, 504 `PROVIDER_TIMEOUT`
 * after 20 s.
 */
export async function runAction<Name extends keyof Actions, Answer>(
  deps: With<"providers">,
  instanceId: InstanceId,
  name: Name,
  ask: ActionCall<Name, Answer>,
): Promise<Answer> {
  const provider = deps.providers.get(instanceId);
  if (provider === undefined) throw new NotRunningHere(instanceId, "The instance of this number");
  const { actions } = provider;
  const found = actions?.[name];
  if (actions === undefined || found === undefined) {
    throw new ApiError("CHANNEL_NOT_SUPPORTED", `The provider ${provider.name} cannot do this (${name}).`);
  }
  const abort = new AbortController();
  const called = (...parameters: Parameters<Actions[Name]>) =>
    (found as (...given: Parameters<Actions[Name]>) => ReturnType<Actions[Name]>).apply(actions, parameters);
  return await inTime(deps, abort, () => ask(called, abort.signal));
}

async function inTime<Answer>(deps: Deps, abort: AbortController, ask: () => Promise<Answer>): Promise<Answer> {
  let stop = () => {};
  const late = new Promise<never>((_, reject) => {
    stop = deps.clock.after(ACTION_MS_MAX, () => {
      abort.abort();
      reject(
        new ApiError(
          "PROVIDER_TIMEOUT",
          "The provider did not respond in time; it is unknown whether the action was done.",
        ),
      );
    });
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    deps.observer.fault("provider.action", error);
    throw new ApiError("PROVIDER_ERROR", "The provider could not complete the action.");
  } finally {
    stop();
  }
}

/** Most actions of one message or chat, with the one in progress; more are refused with a 503. */
const ACTIONS_MAX = 16;
const BUSY_RETRY_AFTER_SECONDS = 5;
/** Time limit for recording an action that the phone did, in real milliseconds. */
export const RECORD_MS_MAX = 10_000;

/** The message or chat of an action. */
export interface ActionSubject {
  customerId: CustomerId;
  id: string;
}

/** Runs the actions of one message or chat in sequence, each on the state that the previous action left. */
export async function runInTurn<Value>(
  { serial }: Pick<Deps, "serial">,
  { customerId, id }: ActionSubject,
  work: () => Promise<Value>,
): Promise<Value> {
  const subject = `${customerId} ${id}`;
  if (serial.count(subject) >= ACTIONS_MAX) {
    throw new ApiError("SERVICE_UNAVAILABLE", `${ACTIONS_MAX} actions are waiting for ${id}; try again later.`, {
      retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
    });
  }
  return serial.run(subject, work);
}

/** Runs `record`. Once the phone has done the action (`isDone`), a full store is given time to accept the record. */
export async function recordAction<Value>(
  deps: Deps,
  record: () => Promise<Value>,
  isDone: () => boolean,
): Promise<Value> {
  try {
    return await record();
  } catch (error) {
    if (!isDone()) throw error;
    return commitInTime(deps, deps.clock.monotonic() + RECORD_MS_MAX, record);
  }
}

/** Asks a provider to do what only some can (edit, react, type …), with a deadline, one command of a subject at a time. */

import { ApiError } from "../core/error.ts";
import type { CustomerId, InstanceId } from "../core/id.ts";
import type { Actions } from "../providers/provider.ts";
import { commitInTime } from "./commit.ts";
import type { Deps } from "./deps.ts";
import type { With } from "./engine-deps.ts";

/** A provider has this long for a command, in real milliseconds: a caller waits for the answer. */
const ACTION_MS_MAX = 20_000;

/** A command of a provider that has it. */
type ActionCall<Name extends keyof Actions, Answer> = (
  command: (...parameters: Parameters<Actions[Name]>) => ReturnType<Actions[Name]>,
  abort: AbortSignal,
) => Promise<Answer>;

/**
 * What the instance's provider answers to the command `name`. Throws 400 `CHANNEL_NOT_SUPPORTED` where it has no such
 * command, 503 where the instance is not running, 502 `PROVIDER_ERROR` for what it throws, 504 `PROVIDER_TIMEOUT` after 20 s.
 */
export async function runAction<Name extends keyof Actions, Answer>(
  deps: With<"providers">,
  instanceId: InstanceId,
  name: Name,
  ask: ActionCall<Name, Answer>,
): Promise<Answer> {
  const provider = deps.providers.get(instanceId);
  if (provider === undefined) {
    throw new ApiError("SERVICE_UNAVAILABLE", "The instance of this number is not running; try again later.", {
      retryAfterSeconds: 10,
    });
  }
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
        new ApiError("PROVIDER_TIMEOUT", "The provider did not answer in time; whether it was done is not known."),
      );
    });
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    deps.observer.fault("provider.command", error);
    throw new ApiError("PROVIDER_ERROR", "The provider failed to do it.");
  } finally {
    stop();
  }
}

/** Orders of one message or chat at once, the one under way included; more are refused with a 503. */
const ORDERS_MAX = 16;
const BUSY_RETRY_AFTER_SECONDS = 5;
/** How long it is tried to record what the phone did, in real milliseconds. */
export const RECORD_MS_MAX = 10_000;

/** A customer's message or chat by its id. */
export interface ActionSubject {
  customerId: CustomerId;
  id: string;
}

/** Orders of one message or chat are done one after the other, each on what the one before it left. */
export async function runInTurn<Value>(
  { serial }: Pick<Deps, "serial">,
  { customerId, id }: ActionSubject,
  work: () => Promise<Value>,
): Promise<Value> {
  const subject = `${customerId} ${id}`;
  if (serial.count(subject) >= ORDERS_MAX) {
    throw new ApiError("SERVICE_UNAVAILABLE", `${ORDERS_MAX} orders wait for ${id} already; try again later.`, {
      retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
    });
  }
  return serial.run(subject, work);
}

/** Does `record`; once the phone has done it (`isDone`), a store that is full is given time to take it. */
export async function recordAction<Value>(
  deps: Deps,
  record: () => Promise<Value>,
  isDone: () => boolean,
): Promise<Value> {
  try {
    return await record();
  } catch (error) {
    if (!isDone()) throw error;
    return commitInTime(deps, deps.clock.real() + RECORD_MS_MAX, record);
  }
}

/** Asks a provider to do what only some can (edit, react, type …), with a deadline, one command of a subject at a time. */

import { ApiError } from "../core/error.ts";
import type { InstanceId } from "../core/id.ts";
import type { Actions } from "../providers/provider.ts";
import type { Deps } from "./deps.ts";

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
  deps: Deps,
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

/**
 * Loaded before Node's test runner: has it follow no promise through a test. The runner follows all to tell which test an error without a
 * test belongs to, which made an `await` forty times as dear, and the tests a quarter. Such an error fails the file instead.
 */

import hooks from "node:async_hooks";

const { createHook } = hooks;

/** The runner's hook with promises and the one without, once the runner has made its own. */
let made: { withPromises: hooks.AsyncHook; untracked: hooks.AsyncHook } | null = null;

// The runner makes one hook for its process, and finds the suite of a test by it.
hooks.createHook = (callbacks) => {
  hooks.createHook = createHook;
  made = { withPromises: createHook(callbacks), untracked: createHook({ ...callbacks, trackPromises: false }) };
  return made.untracked;
};

/** Does what registers tests after an `await`, and has the runner find their suite. */
export async function registering<Value>(work: () => Promise<Value>): Promise<Value> {
  made?.withPromises.enable();
  try {
    return await work();
  } finally {
    // Node follows promises until no hook at all is enabled, even if those that are left do not ask for it.
    made?.withPromises.disable();
    made?.untracked.disable();
    made?.untracked.enable();
  }
}

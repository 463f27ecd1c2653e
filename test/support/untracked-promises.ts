/**
 * Loaded before Node's test runner: has it follow no promise through a test. The runner follows all to tell which test an error without a
 * test belongs to, which made an `await` forty times as dear, and the tests a quarter. Such an error fails the file instead.
 */

import hooks from "node:async_hooks";

const { createHook } = hooks;

/** The runner's hook with promises, once the runner has made its own. */
let withPromises: hooks.AsyncHook | null = null;

// The runner makes one hook for its process, and finds the suite of a test by it.
hooks.createHook = (callbacks) => {
  withPromises = createHook(callbacks);
  hooks.createHook = createHook;
  return createHook({ ...callbacks, trackPromises: false });
};

/** Does what registers tests after an `await`, and has the runner find their suite. */
export async function registering<Value>(work: () => Promise<Value>): Promise<Value> {
  withPromises?.enable();
  try {
    return await work();
  } finally {
    withPromises?.disable();
  }
}

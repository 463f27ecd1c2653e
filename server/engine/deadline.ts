/** Bounds the wait for a provider by a deadline and an abort. */

import type { Clock } from "../clock.ts";

/** The default deadline, in real milliseconds. */
const ANSWER_MS = 40_000;
/** Turns of the microtask queue in which an aborted call may still return its result. */
const LAST_WORD_TURNS = 100;

/**
 * The result of `question`, or `late` if `withinMs` (40 s) pass or `abort` is aborted first. The signal that `question`
 * gets is then aborted too, and a result that it returns at once still counts. Throws the errors of `question`.
 */
export async function withDeadline<Answer>(
  clock: Clock,
  abort: AbortController,
  question: (signal: AbortSignal) => Promise<Answer>,
  late: Answer,
  withinMs = ANSWER_MS,
): Promise<Answer> {
  const stopTimer = clock.after(withinMs, () => abort.abort());
  const calledOff = new Promise<Answer>((resolve) => {
    const end = async () => {
      for (let turn = 0; turn < LAST_WORD_TURNS; turn += 1) await null;
      resolve(late);
    };
    abort.signal.addEventListener("abort", () => void end(), { once: true });
    if (abort.signal.aborted) void end();
  });
  try {
    return await Promise.race([question(abort.signal), calledOff]);
  } finally {
    stopTimer();
  }
}

/** Waits for a provider's answer, but not for ever: what it was asked ends with a deadline, or when it is called off. */

import type { Clock } from "../clock.ts";

/** A provider has this long for one answer unless told otherwise, in real milliseconds. */
const ANSWER_MS = 40_000;
/** One that is called off may say how far it came: turns of the microtask queue that it has for that. */
const LAST_WORD_TURNS = 100;

/**
 * What `question` comes to, or `late` where it does not come within `withinMs` (40 s) or `abort` is aborted before; the question's
 * signal tells the provider so, whose answer still counts where it comes at once. Throws what the question throws in time.
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

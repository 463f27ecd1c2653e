/** `tightbeam test`: runs a test that was recorded on the phone page of the console. */

import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { playSteps, type RecordedStep } from "../sdk/play-steps.ts";
import { printableLine } from "../server/core/printable.ts";
import type { CommandRow } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";

/** Runs a recorded test. */
export const test: CommandRow = {
  name: "test",
  help: "Run a test that you recorded on the phone page of the console.",
  arguments: { "<file>": "the file that the console saved, such as recorded.test.mjs" },
  examples: { "tightbeam test recorded.test.mjs": "exit code 0 if every step passed, 1 if one failed" },
  notes:
    "Only for customers of the sandbox. The command plays the steps of the file, and skips the code around them; node --test runs that code too.",
  run: async (cli, file: string) => {
    const steps = readSteps(file);
    const output = cli.output();
    const client = cli.client();
    const results: { name: string; passed: boolean; error: string | null }[] = [];
    const passed = await playSteps(client, steps, async (name, act) => {
      const error = await act().then(
        () => null,
        (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown)),
      );
      results.push({ name, passed: error === null, error });
      output.progress((paint) => {
        const mark = error === null ? paint("green", "passed") : paint("red", "failed");
        return `${mark}  ${printableLine(error === null ? name : `${name}: ${error}`)}`;
      });
    });
    if (output.json) output.show({ passed, steps: results }, () => "");
    const count = `${results.length} of ${steps.length} steps`;
    if (!passed) throw new Failure(null, `The test failed: it ended after ${count}.`);
    output.progress(() => `The test passed: ${count}.`);
  },
};

/** Longest evaluation of the steps in milliseconds. */
const EVALUATION_MS_MAX = 1_000;

/** The line that begins the list of steps, up to its bracket; the list ends with a bracket that begins a line. */
const BEGIN = /^(?:export )?const steps = (?=\[)/m;

/** The literal of the steps; null without one. */
function stepsLiteral(text: string): string | null {
  const begin = BEGIN.exec(text);
  if (begin === null) return null;
  const from = begin.index + begin[0].length;
  const end = text.indexOf("\n]", from);
  return end === -1 ? null : text.slice(from, end + 2);
}

/** The steps in a file, also if an editor formatted it anew: they are the literal of `const steps`. Throws `UsageError`. */
function readSteps(file: string): RecordedStep[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  const literal = stepsLiteral(text);
  if (literal === null)
    throw new UsageError(
      `${file} is no recorded test: it has no const steps = [...]. Run other tests with node --test.`,
    );
  let steps: unknown;
  try {
    steps = JSON.parse(runInNewContext(`JSON.stringify(${literal})`, {}, { timeout: EVALUATION_MS_MAX }));
  } catch (error) {
    throw new UsageError(
      `The steps of ${file} cannot be read alone (${(error as Error).message}). Run it with node --test.`,
    );
  }
  if (!Array.isArray(steps) || !steps.every((step) => typeof step === "object" && step !== null))
    throw new UsageError(`The steps of ${file} are no list of objects.`);
  return steps;
}

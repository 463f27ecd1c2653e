import assert from "node:assert/strict";
import { test } from "node:test";
import { Progress } from "./progress.ts";

/** A progress on a fake terminal, with what it writes. */
function progressOn({ isTTY = true, columns = 80, goesOn = "" } = {}) {
  const written: string[] = [];
  const clock = { now: 0 };
  let interrupt = () => {};
  const onInterrupt = (act: () => void) => {
    interrupt = act;
    return () => {};
  };
  const stderr = { isTTY, columns, write: (text: string) => written.push(text.replace("\r\u001b[K", "")) > 0 };
  const progress = new Progress({ stderr, onInterrupt, env: {} } as never, {
    interrupted: "Interrupted: nothing was changed.",
    goesOn,
    now: () => clock.now,
  });
  return { progress, written, clock, interrupt: () => interrupt() };
}

test("progress shows a bar, the rate and the time left, at most four times a second", () => {
  const { progress, written, clock } = progressOn();
  for (let step = 0; step <= 40; step++) {
    clock.now = step * 50;
    progress.show("copying", step * 2_500_000, 200_000_000);
  }
  clock.now = 100_000;
  progress.show("checking", 0, 1_234_567, "rows");
  assert.deepEqual(written, [
    "copying  ░░░░░░░░░░░░░░░░    0 %  0.0 of 200 MB",
    "copying  █░░░░░░░░░░░░░░░    6 %  12.5 of 200 MB",
    "copying  ██░░░░░░░░░░░░░░   12 %  25.0 of 200 MB  50.0 MB/s  4 s left",
    "copying  ███░░░░░░░░░░░░░   18 %  37.5 of 200 MB  50.0 MB/s  4 s left",
    "copying  ████░░░░░░░░░░░░   25 %  50.0 of 200 MB  50.0 MB/s  3 s left",
    "copying  █████░░░░░░░░░░░   31 %  62.5 of 200 MB  50.0 MB/s  3 s left",
    "copying  ██████░░░░░░░░░░   37 %  75.0 of 200 MB  50.0 MB/s  3 s left",
    "copying  ███████░░░░░░░░░   43 %  87.5 of 200 MB  50.0 MB/s  3 s left",
    "copying  ████████░░░░░░░░   50 %  100 of 200 MB  50.0 MB/s  2 s left",
    "checking  ░░░░░░░░░░░░░░░░    0 %  0 of 1,234,567 rows",
  ]);
});

test("progress of a command that goes on says where, and its rate counts only what is new", () => {
  const { progress, written, clock } = progressOn({ goesOn: "copying" });
  progress.show("copying", 900_000, 1_000_000, "rows");
  clock.now = 1_000;
  progress.show("copying", 900_500, 1_000_000, "rows");
  assert.deepEqual(written, [
    "copying goes on after 900,000 of 1,000,000 rows\n",
    "copying  ██████████████░░   90 %  900,000 of 1,000,000 rows",
    "copying  ██████████████░░   90 %  900,500 of 1,000,000 rows  500/s  4 min left",
  ]);
});

test("progress of work that does not go on says nothing of it, and its end is shown however soon it comes", () => {
  const { progress, written } = progressOn();
  progress.show("checking", 1_000_000, 3_400_000);
  progress.show("checking", 2_000_000, 3_400_000);
  progress.show("checking", 3_400_000, 3_400_000);
  assert.deepEqual(written, [
    "checking  ████░░░░░░░░░░░░   29 %  1.0 of 3.4 MB",
    "checking  ████████████████  100 %  3.4 of 3.4 MB",
  ]);
});

test("progress writes nothing without a terminal, and never more than a line of it", () => {
  const piped = progressOn({ isTTY: false });
  piped.progress.show("copying", 1, 2);
  assert.deepEqual(piped.written, []);
  const narrow = progressOn({ columns: 30 });
  narrow.progress.show("copying", 0, 2_000_000);
  assert.equal(narrow.written[0]?.length, 29);
});

test("an interrupt ends the work at its next progress, and the line is removed", async () => {
  const { progress, written, interrupt } = progressOn();
  const work = progress.during(async () => {
    progress.show("copying", 0, 2_000_000);
    interrupt();
    progress.show("copying", 1_000_000, 2_000_000);
  });
  await assert.rejects(work, /Interrupted: nothing was changed/);
  assert.deepEqual(written.slice(1), [""]);
});

/** Tests of the log's output: lines that cannot be written are lost, and nothing else is. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { closedOutput, fullOutput, NO_FULL_DEVICE } from "../test/support/broken-output.ts";
import { emptyDirectory } from "../test/support/cli.ts";
import { until } from "../test/support/wait.ts";
import { LineOutput } from "./log-output.ts";

/** An output to the file descriptor, and the failures that it reported. */
function outputTo(fd: number) {
  const failures: string[] = [];
  const output = new LineOutput(fd, ({ code = "" }) => failures.push(code));
  return { output, failures };
}

/** A pipe that nobody reads until `read`. */
function pipeFor(t: TestContext) {
  const path = join(emptyDirectory(t), "pipe");
  execFileSync("mkfifo", [path]);
  const openReader = () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let reader = openReader();
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  t.after(() => closeSync(fd));
  const read = () => {
    const bytes = Buffer.alloc(1_000_000);
    try {
      return bytes.toString("latin1", 0, readSync(reader, bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return "";
      throw error;
    }
  };
  const open = () => {
    reader = openReader();
  };
  return { fd, read, open, close: () => closeSync(reader) };
}

test("lines are written in the order in which they came", async (t) => {
  const path = join(emptyDirectory(t), "log");
  const fd = openSync(path, "w");
  t.after(() => closeSync(fd));
  const { output, failures } = outputTo(fd);
  const lines = Array.from({ length: 1_000 }, (_, at) => `line ${at} ä\n`);
  for (const line of lines) output.write(line);
  await until(() => output.state === "idle");
  assert.equal(readFileSync(path, "utf8"), lines.join(""));
  assert.deepEqual(failures, []);
});

const BROKEN = [
  { what: "a full output", code: "ENOSPC", open: fullOutput, skip: NO_FULL_DEVICE },
  { what: "a closed output", code: "EPIPE", open: closedOutput, skip: false },
];

for (const { what, code, open, skip } of BROKEN) {
  test(`${what} loses the lines, says so once, and keeps none of them`, { skip }, async (t) => {
    const { output, failures } = outputTo(open(t));
    for (let at = 0; at < 3; at += 1) {
      output.write("a line\n");
      await until(() => output.state === "idle");
    }
    assert.deepEqual(failures, [code]);
    output.write("the last line\n");
    output.flush();
    await until(() => output.state === "idle");
  });
}

test("a full pipe gets all lines once it is read", async (t) => {
  const { fd, read } = pipeFor(t);
  const { output, failures } = outputTo(fd);
  const line = `${"x".repeat(99_999)}\n`;
  output.write(line);
  output.write(line);
  let text = "";
  await until(() => {
    text += read();
    return text.length === 2 * line.length && output.state === "idle";
  });
  assert.equal(text, line + line);
  assert.deepEqual(failures, []);
});

test("lines that wait for a full pipe are written at the end of the process", async (t) => {
  const { fd, read } = pipeFor(t);
  const { output } = outputTo(fd);
  const line = `${"x".repeat(65_535)}\n`;
  output.write(line);
  output.write("a line behind the full pipe\n");
  await until(() => output.state === "full");
  assert.equal(read(), line);
  output.flush();
  assert.equal(read(), "a line behind the full pipe\n");
});

test("a pipe that nobody reads costs bounded memory, and holds up the end of the process for a second", async (t) => {
  const { fd } = pipeFor(t);
  const { output, failures } = outputTo(fd);
  const line = `${"x".repeat(9_999)}\n`;
  while (failures.length === 0) output.write(line);
  output.write(line);
  assert.deepEqual(failures, ["EAGAIN"]);
  output.flush();
});

test("lines are written again once the output takes them, and the next failure is said", async (t) => {
  const pipe = pipeFor(t);
  const { output, failures } = outputTo(pipe.fd);
  const write = async (line: string) => {
    output.write(line);
    await until(() => output.state === "idle");
  };
  pipe.close();
  await write("lost\n");
  pipe.open();
  await write("kept\n");
  assert.equal(pipe.read(), "kept\n");
  pipe.close();
  await write("lost again\n");
  assert.deepEqual(failures, ["EPIPE", "EPIPE"]);
});

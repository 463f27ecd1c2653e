import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { attemptCurl } from "./attempt-curl.ts";

/** The arguments that a shell gives curl. */
function argumentsOf(command: string): string[] {
  const shown = `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }\n${command}`;
  return execFileSync("sh", ["-c", shown], { encoding: "utf8" }).split("\0").slice(0, -1);
}

test("an attempt as curl has its headers and the event's bytes, whatever characters they have", () => {
  const url = "https://a.example/it's?a=$HOME&b=`id`";
  const headers = { "X-Signature": "sha256=00", "X-Correlation-Id": "a 'quoted' $HOME \\ !" };
  const body = JSON.stringify({ data: { text: "It's $HOME `id` \\ \" \n EOF\n é 🚀 !" } });
  assert.deepEqual(argumentsOf(attemptCurl(url, headers, body)), [
    ...["-X", "POST", url],
    ...["-H", "X-Signature: sha256=00", "-H", "X-Correlation-Id: a 'quoted' $HOME \\ !"],
    ...["--data-binary", body],
  ]);
});

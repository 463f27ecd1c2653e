/** The settings in force: a given one as it was given, another one with the default that holds now. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig, SETTINGS } from "../config.ts";
import { sandboxSettings, settingsInForce } from "./settings-in-force.ts";

const NAMES = ["TB_REQUEST_LOG", "TB_WEBHOOK_ALLOW"];

function told(env: Record<string, string>, isSandbox: boolean): unknown[] {
  const settings = settingsInForce(readConfig(env), isSandbox);
  assert.deepEqual(
    settings.map(({ name }) => name),
    SETTINGS.map(({ name }) => name),
  );
  return NAMES.map((wanted) => {
    const { value, source } = settings.find(({ name }) => name === wanted) ?? assert.fail(wanted);
    return [value, source];
  });
}

test("settings whose default depends on the sandbox are told with the default in force", () => {
  const asDefault = (...values: (string | null)[]) => values.map((value) => [value, "default"]);
  assert.deepEqual(told({}, true), asDefault("bodies", "loopback"));
  assert.deepEqual(told({}, false), asDefault("off", null));
  assert.deepEqual(told({ TB_PUBLIC_URL: "https://messages.example" }, true), asDefault("bodies", null));
  const given = { TB_REQUEST_LOG: "on", TB_WEBHOOK_ALLOW: "" };
  for (const isSandbox of [true, false])
    assert.deepEqual(told(given, isSandbox), [
      ["on", "environment"],
      ["", "environment"],
    ]);
});

test("the settings in force are the ones that are told", () => {
  for (const env of [{}, { TB_REQUEST_LOG: "on", TB_WEBHOOK_ALLOW: "10.0.0.0/8" }])
    for (const isSandbox of [true, false]) {
      const config = readConfig(env);
      const { requestLog, webhookAllow } = sandboxSettings(config, isSandbox);
      const [[log], [allow]] = told(env, isSandbox) as [[string], [string | null]];
      const { webhookAllowReal } = readConfig({ TB_WEBHOOK_ALLOW: allow ?? "" });
      assert.deepEqual([requestLog, webhookAllow], [log, webhookAllowReal]);
    }
});

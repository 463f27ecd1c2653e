/** Tests of the connection to the Mac's socket: reconnects, backfill afterwards, and a wrong password. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, stageMacProvider } from "../../../test/support/mac-provider.ts";

const MINUTE = 60_000;

it("reconnects after the connection broke, and then begins a backfill at once", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket" });
  assert.equal(stage.mac.socketCount, 1);
  stage.mac.fault("unreachable");
  await stage.pass(20_000);
  stage.mac.phone(ANNA).writes("meanwhile");
  stage.mac.lift("unreachable");
  await stage.idle();
  for (let tries = 0; stage.of("inbound").length === 0 && tries < 35; tries += 1) await stage.pass(1_000);
  assert.deepEqual(
    stage.of("inbound").map(({ text }) => text),
    ["meanwhile"],
  );
  assert.equal(stage.mac.socketCount, 1);
  stage.mac.phone(ANNA).writes("again");
  await stage.idle();
  assert.equal(stage.of("inbound").length, 2);
});

it("reports a password that may be wrong, and keeps trying", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket", starts: false });
  const { password } = stage.mac;
  await stage.start();
  await stage.stop();
  stage.mac.password = "changed";
  // The provider is created with the old password.
  stage.password = password;
  await stage.start();
  await stage.pass(5_000);
  const { status, warnings = [], message = "" } = await stage.provider.health();
  assert.notEqual(status, "healthy");
  assert.match([message, ...warnings].join(" "), /password/i);
  assert.ok(![message, ...warnings].join(" ").includes(password));
  stage.mac.password = password;
  await stage.pass(MINUTE);
  assert.equal(stage.mac.socketCount, 1);
});

it("accepts every password that HTTP accepts", async (t) => {
  for (const password of ["100%", "a%41b", "a%25b", "with a space", "Grüße ✓", "a+b", "a/b?c=d&e#f;g,h", "%2F%"]) {
    const stage = await stageMacProvider(t, { ingest: "socket", password });
    assert.equal(stage.mac.socketCount, 1, password);
    assert.equal((await stage.provider.health()).status, "healthy", password);
    await stage.stop();
  }
});

it("ends with `stop`, for good", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket" });
  await stage.stop();
  await stage.clock.advance(5 * MINUTE);
  await stage.mac.idle();
  assert.equal(stage.mac.socketCount, 0);
});

it("leaves the work to backfill while it cannot connect", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket", starts: false });
  stage.mac.fault("unreachable");
  await stage.start();
  stage.mac.phone(ANNA).writes("before it was there");
  stage.mac.lift("unreachable");
  await stage.pass(MINUTE);
  assert.equal(stage.of("inbound").length, 1);
});

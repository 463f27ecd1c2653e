/** Tests of listening at the Mac's socket: it is made again, what was missed is asked for, a wrong password is said. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, stageMacProvider } from "../../../test/support/mac-provider.ts";

const MINUTE = 60_000;

it("is made again when it was cut, and what was told meanwhile is asked for at once", async (t) => {
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

it("says that the password is another one, and tries on", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket", starts: false });
  const { password } = stage.mac;
  await stage.start();
  await stage.stop();
  stage.mac.password = "changed";
  // The provider is made with the old one.
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

it("is let in with any password that HTTP is let in with", async (t) => {
  for (const password of ["100%", "a%41b", "a%25b", "with a space", "Grüße ✓", "a+b", "a/b?c=d&e#f;g,h", "%2F%"]) {
    const stage = await stageMacProvider(t, { ingest: "socket", password });
    assert.equal(stage.mac.socketCount, 1, password);
    assert.equal((await stage.provider.health()).status, "healthy", password);
    await stage.stop();
  }
});

it("is cut when it is stopped, and stays so", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket" });
  await stage.stop();
  await stage.clock.advance(5 * MINUTE);
  await stage.mac.idle();
  assert.equal(stage.mac.socketCount, 0);
});

it("leaves its work to catching up where it cannot be made", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket", starts: false });
  stage.mac.fault("unreachable");
  await stage.start();
  stage.mac.phone(ANNA).writes("before it was there");
  stage.mac.lift("unreachable");
  await stage.pass(MINUTE);
  assert.equal(stage.of("inbound").length, 1);
});

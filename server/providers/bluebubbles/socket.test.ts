/** Tests of listening at the Mac's socket: it is made again, what was missed is asked for, a wrong password is said. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, startListening } from "../../../test/support/listening.ts";

const MINUTE = 60_000;

it("is made again when it was cut, and what was told meanwhile is asked for at once", async (t) => {
  const heard = await startListening(t, { ingest: "socket" });
  assert.equal(heard.mac.socketCount, 1);
  heard.mac.fault("unreachable");
  await heard.pass(20_000);
  heard.mac.phone(ANNA).writes("meanwhile");
  heard.mac.lift("unreachable");
  await heard.settled();
  for (let tries = 0; heard.of("inbound").length === 0 && tries < 35; tries += 1) await heard.pass(1_000);
  assert.deepEqual(
    heard.of("inbound").map(({ text }) => text),
    ["meanwhile"],
  );
  assert.equal(heard.mac.socketCount, 1);
  heard.mac.phone(ANNA).writes("again");
  await heard.settled();
  assert.equal(heard.of("inbound").length, 2);
});

it("says that the password is another one, and tries on", async (t) => {
  const heard = await startListening(t, { ingest: "socket", starts: false });
  const { password } = heard.mac;
  await heard.start();
  await heard.stop();
  heard.mac.password = "changed";
  // The provider is made with the old one.
  heard.password = password;
  await heard.start();
  await heard.pass(5_000);
  const { status, warnings = [], message = "" } = await heard.provider.health();
  assert.notEqual(status, "healthy");
  assert.match([message, ...warnings].join(" "), /password/i);
  assert.ok(![message, ...warnings].join(" ").includes(password));
  heard.mac.password = password;
  await heard.pass(MINUTE);
  assert.equal(heard.mac.socketCount, 1);
});

it("is let in with any password that HTTP is let in with", async (t) => {
  for (const password of ["100%", "a%41b", "a%25b", "with a space", "Grüße ✓", "a+b", "a/b?c=d&e#f;g,h", "%2F%"]) {
    const heard = await startListening(t, { ingest: "socket", password });
    assert.equal(heard.mac.socketCount, 1, password);
    assert.equal((await heard.provider.health()).status, "healthy", password);
    await heard.stop();
  }
});

it("is cut when it is stopped, and stays so", async (t) => {
  const heard = await startListening(t, { ingest: "socket" });
  await heard.stop();
  await heard.clock.advance(5 * MINUTE);
  await heard.mac.settled();
  assert.equal(heard.mac.socketCount, 0);
});

it("leaves its work to catching up where it cannot be made", async (t) => {
  const heard = await startListening(t, { ingest: "socket", starts: false });
  heard.mac.fault("unreachable");
  await heard.start();
  heard.mac.phone(ANNA).writes("before it was there");
  heard.mac.lift("unreachable");
  await heard.pass(MINUTE);
  assert.equal(heard.of("inbound").length, 1);
});

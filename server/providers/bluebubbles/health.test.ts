/** Tests of a Mac's health: whether it can send, and the known ways to respond to everything and send nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../../../test/support/mac/faults.ts";
import { stageMac } from "../../../test/support/mac-outbound.ts";
import { healthOf, type MacStatus, macosMajor, parseAccount, parseInfo, stopsTyping } from "./status.ts";

const GREEN = {
  os_version: "15.5.0",
  server_version: "1.9.9",
  private_api: true,
  helper_connected: true,
  proxy_service: "lan-url",
  macos_time_sync: 0.01,
};
const ACCOUNT = {
  sms_forwarding_enabled: true,
  vetted_aliases: [{ Alias: "+15550000001", Status: 3 }, null],
  login_status_message: "Connected",
  active_alias: "+15550000001",
};

function standing(more: Partial<MacStatus> = {}): MacStatus {
  return {
    down: null,
    info: parseInfo(GREEN),
    account: parseAccount(ACCOUNT),
    ownOnImessage: true,
    numbers: ["+15550000001"],
    suspectedLost: [],
    unconfirmed: { messages: 0, forMs: 0 },
    unaddressed: 0,
    ...more,
  };
}

test("a working Mac is healthy and reports its versions", () => {
  assert.deepEqual(healthOf(standing()), { status: "healthy", message: "BlueBubbles 1.9.9 on macOS 15.5.0" });
  assert.deepEqual(healthOf(standing({ info: null })).status, "unknown");
  // A claim that Apple removed an address does not count while the account still has the address.
  assert.equal(healthOf(standing({ suspectedLost: ["+15550000001"] })).status, "healthy");
});

const TROUBLES: readonly [string, Partial<MacStatus>, "degraded" | "healthy", RegExp][] = [
  [
    "signed out",
    { account: parseAccount({ ...ACCOUNT, login_status_message: "Not Signed In" }) },
    "degraded",
    /sign in/,
  ],
  ["unknown to Apple", { ownOnImessage: false }, "degraded", /not on iMessage/],
  [
    "whose address Apple removed",
    { suspectedLost: ["+15550000001"], account: parseAccount({ ...ACCOUNT, vetted_aliases: [] }) },
    "degraded",
    /Apple removed …0001/,
  ],
  ["of another address", { numbers: ["me@x.example"] }, "degraded", /…0001.*Start new conversations/],
  [
    "sent without a sign of life",
    { unconfirmed: { messages: 9, forMs: 7_200_000 } },
    "degraded",
    /9 messages.*120 minutes/,
  ],
  ["with messages to nobody", { unaddressed: 2 }, "degraded", /2 messages of contacts.*no number of this instance/],
  ["with a message to nobody", { unaddressed: 1 }, "degraded", /^A message of a contact .* nobody got it/],
  ["clock off", { info: parseInfo({ ...GREEN, macos_time_sync: -42 }) }, "degraded", /42 seconds/],
  ["macOS 26", { info: parseInfo({ ...GREEN, os_version: "26.0.1" }) }, "healthy", /not proven on macOS 26/],
  ["quick tunnel", { info: parseInfo({ ...GREEN, proxy_service: "Cloudflare" }) }, "healthy", /Cloudflare/],
  [
    "no SMS",
    { account: parseAccount({ ...ACCOUNT, sms_forwarding_enabled: false }) },
    "healthy",
    /Text Message Forwarding/,
  ],
];

test("each known problem of a responding Mac has a warning that says what to do", () => {
  for (const [name, more, status, words] of TROUBLES) {
    const health = healthOf(standing(more));
    assert.equal(health.status, status, name);
    assert.match((health.warnings ?? []).join("\n"), words, name);
    assert.doesNotMatch(JSON.stringify(health), /\+1555/, name);
  }
});

test("small deviations cause no warning", () => {
  for (const more of [
    { unheard: { messages: 4, forMs: 7_200_000 } },
    { unheard: { messages: 90, forMs: 3_599_999 } },
    { info: parseInfo({ ...GREEN, macos_time_sync: 4 }) },
    { numbers: [] },
    { numbers: ["+15550000009", "+15550000001"] },
    { account: null, ownOnImessage: null },
    { account: parseAccount({ ...ACCOUNT, active_alias: "tel:+1 (555) 000-0001" }) },
  ]) {
    const health = healthOf(standing(more));
    assert.deepEqual([health.status, health.warnings], ["healthy", undefined], JSON.stringify(more));
  }
});

test("typing is stopped only on versions that do it right", () => {
  const versions = { "1.9.9": false, "1.9.8": false, "0.9.10": false, "1.9.10": true, "1.10.0": true, "2.0.0": true };
  for (const [version, stops] of Object.entries(versions)) {
    assert.equal(stopsTyping(parseInfo({ ...GREEN, server_version: version })), stops, version);
  }
  assert.equal(stopsTyping(null), false);
  assert.equal(stopsTyping(parseInfo({})), false);
  assert.equal(stopsTyping(parseInfo({ server_version: "nightly" })), false);
});

test("the Mac's reports are parsed, whatever is missing", () => {
  for (const data of [null, 1, [], {}, { os_version: 5, vetted_aliases: "x" }]) {
    assert.equal(macosMajor(parseInfo(data)), null);
    assert.deepEqual(parseAccount(data).aliases, []);
  }
  assert.equal(macosMajor(parseInfo(GREEN)), 15);
});

test("when a Mac comes up, its account is read, and whether Apple knows its address", async (t) => {
  const stage = await stageMac(t);
  const { health } = stage.process.mac;
  health.start(() => {});
  await stage.driven(stage.process.mac.health.forwardsSms());
  await stage.driven(new Promise<void>((resolve) => void stage.clock.after(2_000, resolve)));
  assert.deepEqual(await stage.driven(health.health()), {
    status: "healthy",
    message: "BlueBubbles 1.9.9 on macOS 15.5.0",
  });
  assert.ok(stage.fake.helperCalls.some(({ action }) => action === "check-imessage-availability"));
});

test("a Mac that is signed out of iMessage is detected although it responds", async (t) => {
  const stage = await stageMac(t);
  stage.fake.fault("signedOut");
  const { health } = stage.process.mac;
  await stage.driven(health.forwardsSms());
  const reported = await stage.driven(health.health());
  assert.equal(reported.status, "degraded");
  assert.match(reported.message ?? "", /Not Signed In/);
});

test("messages sent without any sign of life from Apple make the Mac degraded, until something arrives", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows("+15551230001");
  stage.fake.fault("greenButDead");
  for (let at = 0; at < 5; at += 1) assert.equal((await stage.send(stage.message())).outcome, "accepted");
  const { health } = stage.process.mac;
  await stage.clock.advance(3_700_000);
  assert.match((await stage.driven(health.health())).message ?? "", /accepted 5 messages/);
  health.activitySeen();
  assert.equal((await stage.driven(health.health())).status, "healthy");
});

const DOWN: readonly [Fault, RegExp][] = [
  ["unreachable", /cannot be reached.*awake/],
  ["asleep", /did not respond/],
  ["privateApiOff", /Private API is off/],
  ["helperGone", /helper.*not connected/],
];

test("a Mac that goes down is detected within a minute, with a reason, and checked until it is back", async (t) => {
  for (const [fault, words] of DOWN) {
    const stage = await stageMac(t);
    const { health } = stage.process.mac;
    let ups = 0;
    health.start(() => {
      ups += 1;
    });
    await stage.driven(health.ready());
    stage.fake.fault(fault);
    const waitFor = (isUp: boolean, limitMs: number) =>
      stage.driven(
        (async () => {
          const endsAt = stage.clock.now() + limitMs;
          while (health.isUp !== isUp) {
            assert.ok(stage.clock.now() <= endsAt, `${fault} was not seen in ${limitMs} ms`);
            await new Promise((resolve) => setImmediate(resolve));
          }
        })(),
      );
    await waitFor(false, 66_000);
    const reported = await stage.driven(health.health());
    assert.equal(reported.status, "unhealthy", fault);
    assert.match(reported.message ?? "", words);
    await stage.clock.advance(300_000);
    await stage.fake.idle();
    stage.fake.lift(fault);
    await waitFor(true, 36_000);
    assert.equal(ups, 1, fault);
    assert.equal(stage.process.changes.count, 2, fault);
    assert.equal((await stage.driven(health.health())).status, "healthy", fault);
  }
});

test("a lost helper of Messages is not mistaken for connected because FaceTime's helper is", async (t) => {
  const stage = await stageMac(t);
  const { health, client } = stage.process.mac;
  await stage.driven(health.ready());
  // `server/info` reports a connected helper; calls to Messages show the contrary.
  const get = client.get.bind(client);
  client.get = async (path, query, limits) => {
    const answer = await get(path, query, limits);
    if (path !== "/server/info" || answer.kind !== "ok") return answer;
    return { ...answer, data: { ...GREEN } };
  };
  stage.fake.fault("helperGone");
  stage.fake.knows("+15551230001");
  const outcome = await stage.send(stage.message());
  assert.ok(outcome.outcome === "deferred" && outcome.isDown === true);
  await stage.driven(health.ready());
  assert.equal(health.isUp, false);
  stage.fake.lift("helperGone");
  assert.equal(await stage.driven(health.ready()), null);
});

test("health returns in time, whatever the Mac does, and does not flood it", async (t) => {
  const stage = await stageMac(t);
  const { health } = stage.process.mac;
  await stage.driven(health.ready());
  const asked = stage.fake.requests.filter((line) => line.endsWith("/server/info")).length;
  for (let at = 0; at < 20; at += 1) await health.health();
  assert.equal(stage.fake.requests.filter((line) => line.endsWith("/server/info")).length, asked);
  stage.fake.fault("asleep");
  await stage.clock.advance(40_000);
  const startedAt = stage.clock.now();
  assert.notEqual(await stage.driven(health.health()), null);
  assert.ok(stage.clock.now() - startedAt <= 1_750, String(stage.clock.now() - startedAt));
});

test("a wrong password and a wrong server have different messages", async (t) => {
  const stage = await stageMac(t, { instancePassword: "wrong" });
  assert.match((await stage.driven(stage.process.mac.health.health())).message ?? "", /rejects the password/);
  const other = await stageMac(t);
  other.process.mac.client.get = async () => ({ kind: "errorResponse", status: 404, type: null, message: "no JSON" });
  assert.match((await other.driven(other.process.mac.health.health())).message ?? "", /not BlueBubbles.*404/);
});

test("after stop no request is made and no timer is left", async (t) => {
  const stage = await stageMac(t);
  const { health } = stage.process.mac;
  health.start(() => {});
  await stage.driven(health.ready());
  await stage.process.stop();
  await stage.fake.idle();
  assert.equal(stage.clock.pending, 0);
});

test("a Mac that fails at its account is up again: only a missing helper keeps it down", async (t) => {
  const stage = await stageMac(t);
  const { client, health } = stage.process.mac;
  await stage.driven(health.ready());
  const get = client.get.bind(client);
  let message = "iMessage Private API Helper is not connected!";
  client.get = async (path, query, limits) =>
    path === "/icloud/account"
      ? { kind: "errorResponse", status: 500, type: "Server Error", message }
      : await get(path, query, limits);
  health.reportDown({ kind: "errorResponse", status: 500, type: "iMessage Error", message });
  await stage.driven(health.ready());
  assert.equal(health.isUp, false);
  message = "An unhandled error has occurred!";
  await stage.driven(health.ready());
  assert.equal(health.isUp, true);
});

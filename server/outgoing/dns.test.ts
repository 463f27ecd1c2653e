/** Lookups at a small name server on loopback, and the cache by a simulated clock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { nameServer } from "../../test/support/name-server.ts";
import { cachedResolver, dnsResolver, type Resolution, systemResolver } from "./dns.ts";

test("a name leads to all its addresses, IPv4 first, for the shortest time to live", async (t) => {
  const v6 = Buffer.from("20010db8000000000000000000000001", "hex");
  const server = await nameServer({
    "both.test": { a: ["203.0.113.1", "10.0.0.1"], aaaa: [v6], ttlSeconds: 42 },
    "four.test": { a: ["203.0.113.2"], aaaa: [], ttlSeconds: 7 },
    "six.test": { a: [], aaaa: [v6], ttlSeconds: 0 },
  });
  t.after(server.close);
  const resolve = dnsResolver([server.address]);
  const both = await resolve("both.test");
  assert.deepEqual(both.addresses.slice().sort(), ["10.0.0.1", "2001:db8::1", "203.0.113.1"]);
  assert.equal(both.addresses.at(-1), "2001:db8::1");
  assert.equal(both.ttlSeconds, 42);
  assert.deepEqual(await resolve("four.test"), { addresses: ["203.0.113.2"], ttlSeconds: 7 });
  assert.deepEqual(await resolve("six.test"), { addresses: ["2001:db8::1"], ttlSeconds: 0 });
  await assert.rejects(resolve("none.test"));
});

test("a lookup at a silent name server fails after 2 seconds and delays no other lookup", async (t) => {
  const server = await nameServer({ "four.test": { a: ["203.0.113.2"], aaaa: [], ttlSeconds: 7 } });
  t.after(server.close);
  const addressesOf = cachedResolver(dnsResolver([server.address]), () => performance.now());
  const startedAt = performance.now();
  let ended = 0;
  const mute = Array.from({ length: 20 }, (_, at) => addressesOf(`mute${at}.test`).finally(() => (ended += 1)));
  const results = Promise.allSettled(mute);
  assert.deepEqual(await addressesOf("four.test"), ["203.0.113.2"]);
  assert.equal(ended, 0, "the other name waited for none of them");
  assert.ok((await results).every(({ status }) => status === "rejected"));
  const muteMs = performance.now() - startedAt;
  // One after the other they would take 40 s.
  assert.ok(muteMs < 20_000, `the mute names took ${muteMs} ms`);
});

test("an endless lookup fails after 2 seconds", async () => {
  const startedAt = performance.now();
  const addressesOf = cachedResolver(
    () => new Promise<Resolution>(() => {}),
    () => performance.now(),
  );
  await assert.rejects(addressesOf("never.test"), /did not answer in time/);
  assert.ok(performance.now() - startedAt < 20_000);
});

test("a name is looked up once in its time to live, also for concurrent callers, and again after that", async () => {
  let now = 0;
  let asked = 0;
  const addressesOf = cachedResolver(
    async () => {
      asked += 1;
      return { addresses: [`203.0.113.${asked}`], ttlSeconds: 600 };
    },
    () => now,
  );
  await Promise.all(Array.from({ length: 10 }, () => addressesOf("a.test")));
  now = 59_999;
  assert.deepEqual(await addressesOf("a.test"), ["203.0.113.1"]);
  now = 60_000;
  assert.deepEqual(await addressesOf("a.test"), ["203.0.113.2"]);
  assert.equal(asked, 2);
});

test("neither a failure nor an answer without time to live is cached", async () => {
  let asked = 0;
  const addressesOf = cachedResolver(
    async (host) => {
      asked += 1;
      if (host === "bad.test") throw new Error("no such name");
      return { addresses: ["203.0.113.1"], ttlSeconds: 0 };
    },
    () => 0,
  );
  for (let round = 1; round <= 2; round += 1) {
    await assert.rejects(addressesOf("bad.test"), /no such name/);
    await addressesOf("a.test");
    assert.equal(asked, round * 2);
  }
});

test("at most 1,000 names are cached, and the oldest is dropped first", async () => {
  let asked = 0;
  const addressesOf = cachedResolver(
    async () => {
      asked += 1;
      return { addresses: ["203.0.113.1"], ttlSeconds: 60 };
    },
    () => 0,
  );
  for (let at = 0; at < 1_001; at += 1) await addressesOf(`${at}.test`);
  await addressesOf("1000.test");
  await addressesOf("1.test");
  assert.equal(asked, 1_001);
  await addressesOf("0.test");
  assert.equal(asked, 1_002);
});

test("the operator's names are resolved like other programs of the machine resolve them", async () => {
  const { addresses } = await systemResolver("localhost");
  assert.ok(addresses.includes("127.0.0.1") || addresses.includes("::1"), addresses.join());
});

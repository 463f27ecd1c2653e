import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNetworks } from "./address.ts";
import { clientAddress, networkOf } from "./client-address.ts";

const TRUSTED = parseNetworks("loopback, 10.0.0.0/8, fd00::/8");

const ROWS: [title: string, peer: string, forwardedFor: string | undefined, address: string, isShared: boolean][] = [
  ["a client without a proxy", "203.0.113.7", undefined, "203.0.113.7", false],
  ["a client that invents a header", "203.0.113.7", "198.51.100.1", "203.0.113.7", false],
  ["a client behind a trusted proxy", "127.0.0.1", "203.0.113.7", "203.0.113.7", false],
  ["the address that a client invents is further left", "10.1.2.3", "198.51.100.1, 203.0.113.7", "203.0.113.7", false],
  ["two trusted proxies", "127.0.0.1", "198.51.100.1, 203.0.113.7,10.9.9.9", "203.0.113.7", false],
  ["a client inside a trusted network", "127.0.0.1", "10.0.0.5", "10.0.0.5", false],
  ["a trusted proxy over IPv6", "fd00::1", "2001:db8::7", "2001:db8::7", false],
  ["an IPv4 proxy on an IPv6 socket", "::ffff:127.0.0.1", "203.0.113.7", "203.0.113.7", false],
  ["a trusted proxy that names nobody", "127.0.0.1", undefined, "127.0.0.1", true],
  ["a trusted proxy that names no address", "127.0.0.1", "unknown", "127.0.0.1", true],
  ["no address behind a trusted proxy's name", "127.0.0.1", "198.51.100.1, secret, 10.0.0.1", "10.0.0.1", false],
  ["a closed socket", "", "203.0.113.7", "", false],
];

for (const [title, peer, forwardedFor, address, isShared] of ROWS) {
  test(`the client of a request: ${title}`, () => {
    assert.deepEqual(clientAddress(peer, forwardedFor, TRUSTED), { address, isShared });
  });
}

const NETWORKS: [address: string, network: string][] = [
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::FFFF:cb00:7107", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::1", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8::9:2:3:4", "2001:db8:0:0::/64"],
  ["2001:db8::5:6:7:8:9", "2001:db8:0:5::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::203.0.113.7", "64:ff9b:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["", ""],
  ["x".repeat(100), "x".repeat(64)],
];

for (const [address, network] of NETWORKS) {
  test(`the network of ${address.slice(0, 40) || "no address"} is ${network.slice(0, 40) || "none"}`, () => {
    assert.equal(networkOf(address), network);
  });
}

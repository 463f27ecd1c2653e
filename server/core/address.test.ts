/** The tables of which addresses may be reached, and of every spelling that must not get around them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../test/support/runs.ts";
import { allows, checkAddress, isPublicAddress, parseAllowList } from "./address.ts";

const NOTHING = parseAllowList("");
const LOOPBACK = parseAllowList("loopback");

const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.1",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "203.0.112.255",
  "223.255.255.255",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2606:4700:4700::1111",
  "2a00:1450:4001::200e",
  "2003::1",
  "3ffe:ffff::1",
];

const NOT_PUBLIC: Record<string, string> = {
  "0.0.0.0": "this host",
  "0.255.255.255": "this network",
  "10.0.0.1": "private",
  "10.255.255.255": "private",
  "100.64.0.1": "carrier NAT",
  "100.100.100.200": "Alibaba metadata",
  "100.127.255.255": "carrier NAT",
  "127.0.0.1": "loopback",
  "127.255.255.254": "loopback",
  "168.63.129.16": "Azure metadata",
  "169.254.0.1": "link-local",
  "169.254.169.254": "metadata",
  "172.16.0.1": "private",
  "172.31.255.255": "private",
  "192.0.0.1": "protocol assignments",
  "192.0.0.192": "Oracle metadata",
  "192.0.2.1": "documentation",
  "192.88.99.1": "6to4 relay",
  "192.168.0.1": "private",
  "192.168.255.255": "private",
  "198.18.0.1": "benchmarking",
  "198.19.255.255": "benchmarking",
  "198.51.100.1": "documentation",
  "203.0.113.1": "documentation",
  "224.0.0.1": "multicast",
  "239.255.255.255": "multicast",
  "240.0.0.1": "reserved",
  "255.255.255.255": "broadcast",
  "::": "unspecified",
  "::1": "loopback",
  "0:0:0:0:0:0:0:1": "loopback written out",
  "::127.0.0.1": "v4-compatible",
  "::7f00:1": "v4-compatible",
  "::8.8.8.8": "v4-compatible",
  "::ffff:127.0.0.1": "v4-mapped",
  "::ffff:7f00:1": "v4-mapped",
  "::FFFF:10.0.0.1": "v4-mapped",
  "::ffff:8.8.8.8": "v4-mapped, public inside",
  "::ffff:0:127.0.0.1": "v4-translated",
  "64:ff9b::7f00:1": "NAT64",
  "64:ff9b::8.8.8.8": "NAT64, public inside",
  "64:ff9b:1::1": "local NAT64",
  "100::1": "discard",
  "2001::1": "Teredo",
  "2001:0:7f00:1::": "Teredo",
  "2001:20::1": "ORCHID",
  "2001:1ff:ffff::1": "protocol assignments",
  "2001:db8::1": "documentation",
  "2002:7f00:1::1": "6to4 of loopback",
  "2002:808:808::1": "6to4",
  "3fff::1": "documentation",
  "3fff:fff::1": "documentation",
  "4000::1": "outside global unicast",
  "5f00::1": "segment routing",
  "fc00::1": "unique local",
  "fd00:ec2::254": "metadata over IPv6",
  "fe80::1": "link-local",
  "fe80::1%eth0": "link-local with a zone",
  "2606:4700::1%eth0": "a zone on a public one",
  "fec0::1": "site-local",
  "ff02::1": "multicast",
};

const NOT_ADDRESSES = [
  "",
  "localhost",
  "127.1",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "2130706433",
  "1.1.1.1 ",
  "1.1.1.1\n",
  "[::1]",
  "1.1.1.1/32",
  "1.1.1",
];

/** Thirty spellings of this machine, most of which a parser turns into 127.0.0.1 or ::1. */
const LOOPBACK_HOSTS = [
  "127.0.0.1",
  "127.0.0.1.",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0X7F.0.0.0x1",
  "017700000001",
  "0177.0.0.1",
  "0177.0x0.0.1",
  "%31%32%37.0.0.1",
  "１２７.0.0.1",
  "127。0。0。1",
  "①②⑦.0.0.1",
  "[::1]",
  "[::0001]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::FFFF:7F00:0001]",
  "[0:0:0:0:0:ffff:127.0.0.1]",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "ｌocalhost",
  "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
  "local\u00adhost",
  "api.localhost",
];

/** Addresses of this machine or a private network that `loopback` does not allow. */
const NEVER_HOSTS = [
  "0",
  "0.0.0.0",
  "[::]",
  "[::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "10.0.0.1",
  "0xa9fea9fe",
  "169.254.169.254",
  "[::ffff:169.254.169.254]",
  "[fd00:ec2::254]",
  "printer.local",
  "PRINTER.LOCAL.",
  "local",
  "metadata.google.internal",
  "internal.",
];

test("public addresses are public, up to the edges of the ranges beside them", () => {
  for (const ip of PUBLIC) assert.equal(isPublicAddress(ip), true, ip);
});

test("private, loopback, link-local, metadata and special addresses are not public", () => {
  for (const [ip, what] of Object.entries(NOT_PUBLIC)) assert.equal(isPublicAddress(ip), false, `${ip} (${what})`);
});

test("a text that is not exactly an IP address is not public", () => {
  for (const text of NOT_ADDRESSES) assert.equal(isPublicAddress(text), false, JSON.stringify(text));
});

test("an IPv6 address that embeds an IPv4 address is never public", () => {
  const octet = fc.nat(255);
  fc.assert(
    fc.property(octet, octet, octet, octet, (a, b, c, d) => {
      const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      const carried = [`::${hex}`, `::ffff:${hex}`, `64:ff9b::${hex}`, `2002:${hex}::1`, `2001:0:${hex}::`];
      return carried.every((ip) => !isPublicAddress(ip));
    }),
  );
});

test("every spelling of loopback is refused at configuration, with or without TLS", () => {
  for (const host of LOOPBACK_HOSTS) {
    for (const scheme of ["https", "http", "HTTPS"]) {
      assert.notEqual(checkAddress(`${scheme}://${host}:8443/hook`, NOTHING), null, `${scheme} ${host}`);
    }
  }
});

test("the word loopback opens every spelling of loopback, http included", () => {
  for (const host of LOOPBACK_HOSTS) {
    assert.equal(checkAddress(`http://${host}:3000/hook`, LOOPBACK), null, host);
    assert.equal(checkAddress(`https://${host}/hook`, LOOPBACK), null, host);
  }
});

test("the word loopback opens nothing else", () => {
  for (const host of NEVER_HOSTS) {
    assert.notEqual(checkAddress(`https://${host}/hook`, LOOPBACK), null, host);
    assert.notEqual(checkAddress(`http://${host}/hook`, LOOPBACK), null, host);
  }
  assert.match(checkAddress("http://example.com/", LOOPBACK) ?? "", /must start with https/);
});

test("public https addresses are accepted", () => {
  const fine = [
    "https://example.com",
    "https://example.com.",
    "https://EXAMPLE.com:8443/a/b?c=d#e",
    "https://bücher.example/hook",
    "https://xn--bcher-kva.example/",
    "https://a_b.example-1.com/",
    "https://1.1.1.1/hook",
    "https://[2606:4700:4700::1111]/hook",
    "https://localhost.example.com/",
    "https://notlocalhost/",
    "https://internal.example.com/",
    `https://example.com/${"x".repeat(2_048 - 20)}`,
  ];
  for (const url of fine) assert.equal(checkAddress(url, NOTHING), null, url.slice(0, 80));
});

test("the refusal of an address names the reason", () => {
  const table: [string, RegExp][] = [
    [`https://example.com/${"x".repeat(2_029)}`, /2049 characters.*2048/],
    ["http://example.com/hook", /must start with https/],
    ["https://user:pass@example.com/", /user name or password/],
    ["https://user@example.com/", /user name or password/],
    ["https://10.0.0.1/", /leads to 10\.0\.0\.1.*TB_WEBHOOK_ALLOW/],
    ["https://2130706433/", /leads to 127\.0\.0\.1/],
  ];
  for (const [url, why] of table) assert.match(checkAddress(url, NOTHING) ?? "", why, url.slice(0, 80));
  const notUrls = [
    "",
    "example.com",
    "/hook",
    "//example.com",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "https:\\\\example.com",
    "https://",
    "https://?x",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/plain,x",
    "https://example.com/a b",
    "ht\ntps://example.com/",
    " https://example.com/",
    "https://example.com/\r\nX-Injected: 1",
    "https://exa mple.com/",
    "https://example.com:99999/",
    "https://1.1.1.256/",
    "https://[fe80::1%25eth0]/",
    "https://[::1/",
    "https://a..b/",
    "https://./",
    "https://\u0000/",
  ];
  for (const url of notUrls) assert.match(checkAddress(url, LOOPBACK) ?? "", /absolute URL/, JSON.stringify(url));
});

test("no text gets through that a URL parser reads as a private IPv4 literal", () => {
  const octet = fc.nat(255);
  const radix = fc.constantFrom(
    (n: number) => String(n),
    (n: number) => `0x${n.toString(16)}`,
    (n: number) => `0${n.toString(8)}`,
  );
  fc.assert(
    fc.property(
      fc.constantFrom([10], [127], [192, 168], [169, 254]),
      octet,
      octet,
      octet,
      fc.array(radix, { minLength: 4, maxLength: 4 }),
      (head, x, y, z, spell) => {
        const host = [...head, x, y, z]
          .slice(0, 4)
          .map((n, at) => (spell[at] ?? String)(n))
          .join(".");
        return checkAddress(`https://${host}/`, NOTHING) !== null;
      },
    ),
    { numRuns: runsOf(500) },
  );
});

test("TB_WEBHOOK_ALLOW takes ranges, addresses, host names and the word loopback", () => {
  const list = parseAllowList(" 10.0.0.0/8, 192.168.1.7 ,fd00::/8,::1, Hooks.Internal., bücher.local,,LOOPBACK ");
  const opened: [string, string | null][] = [
    ["10.1.2.3", "10.1.2.3"],
    ["anything.example", "10.1.2.3"],
    ["192.168.1.7", "192.168.1.7"],
    ["[fd12::1]", "fd12::1"],
    ["hooks.internal", null],
    ["HOOKS.internal.", "172.16.0.1"],
    ["xn--bcher-kva.local", null],
    ["localhost", null],
    ["localhost", "127.0.0.1"],
    ["api.localhost", "::1"],
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:127.0.0.1", "::ffff:127.0.0.1"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
  ];
  for (const [host, ip] of opened) assert.equal(allows(list, { host, ip }), true, `${host} ${ip}`);
  const closed: [string, string | null][] = [
    ["11.0.0.1", "11.0.0.1"],
    ["192.168.1.8", "192.168.1.8"],
    ["other.internal", null],
    ["sub.hooks.internal", null],
    ["hooks.internal.example.com", null],
    ["localhost", "172.16.0.1"],
    ["::127.0.0.1", "::127.0.0.1"],
    ["fe80::1%eth0", "fe80::1%eth0"],
    ["example.com", null],
  ];
  for (const [host, ip] of closed) assert.equal(allows(list, { host, ip }), false, `${host} ${ip}`);
});

test("http is open exactly to what the list opens", () => {
  const list = parseAllowList("hooks.internal,10.0.0.0/8,203.0.113.9,1.1.1.1");
  for (const host of ["hooks.internal", "10.9.9.9", "167772161", "203.0.113.9", "1.1.1.1", "[::ffff:a00:1]"]) {
    assert.equal(checkAddress(`http://${host}/`, list), null, host);
  }
  for (const host of ["other.internal", "11.9.9.9", "example.com", "1.1.1.2", "127.0.0.1"]) {
    assert.notEqual(checkAddress(`http://${host}/`, list), null, host);
  }
});

test("an item of the list that cannot be read is named in one line", () => {
  const bad = [
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "10.0.0.0/",
    "10.0.0/8",
    "::/129",
    "fe80::1%eth0",
    "[::1]",
    "127.1",
    "2130706433",
    "*.internal",
    "*",
    "http://localhost",
    "localhost:3000",
    "user@host",
    "two words",
    "a..b",
    ".",
    "a\nb",
  ];
  for (const item of bad) {
    assert.throws(
      () => parseAllowList(`127.0.0.1,${item}`),
      (error: Error) => error.message.startsWith(JSON.stringify(item)) && !error.message.includes("\n"),
      item,
    );
  }
});

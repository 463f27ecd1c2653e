import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { freePort } from "./free-port.ts";

const RANGE = "/proc/sys/net/ipv4/ip_local_port_range";

test("a free port stays free until its server starts: no socket gets it that names no port, and no other test", async () => {
  const [firstOfSystem = 0] = existsSync(RANGE)
    ? readFileSync(RANGE, "utf8").trim().split(/\s+/).map(Number)
    : [49_152];
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  assert.equal(new Set(ports).size, ports.length);
  assert.ok(Math.max(...ports) < firstOfSystem, `${Math.max(...ports)} is one of those from ${firstOfSystem}`);
  const other = createSocket("udp4");
  other.bind({ port: ports[0] ?? 0, address: "127.0.0.1", exclusive: true });
  const [error] = await once(other, "error");
  assert.equal(error.code, "EADDRINUSE");
  other.close();
});

/** A port for a server that a test or a benchmark starts in a process of its own. */

import assert from "node:assert/strict";
import { createServer } from "node:net";

/** A port on loopback that nothing listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : assert.fail("the server has no port");
}

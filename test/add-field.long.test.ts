/** The guide "A field of a message" in docs/architecture.md, followed to the letter on a copy of the sources. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { emptyDirectory } from "./support/cli.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PARTS = [
  "bench",
  "cli",
  "console",
  "contract",
  "docs",
  "sdk",
  "server",
  "site",
  "test",
  "package.json",
  "tsconfig.json",
];
const run = promisify(execFile);

/** The steps of the guide: in this file, behind this line, this line is new. */
const STEPS: readonly [file: string, behind: string, line: string][] = [
  [
    "contract/sending.ts",
    "  metadata: optional(metadataInput),",
    '  campaign: optional(text(1, 40, "The campaign that it belongs to.")),',
  ],
  [
    "contract/sending.ts",
    '  scheduledAt: atOrNull("When the message is, or was, to be sent; null if it was not scheduled."),',
    '  campaign: stringOrNull("The campaign that it belongs to."),',
  ],
  ["contract/sending.ts", '  externalMessageId: "order-1001",', '  campaign: "spring",'],
  ["server/core/message.ts", "  externalMessageId: string | null;", "  campaign: string | null;"],
  ["server/core/message.ts", "  externalMessageId: null,", "  campaign: null,"],
  [
    "server/core/message-record.ts",
    "    externalMessageId: message.externalMessageId,\n    createdAt: iso(message.createdAt),",
    "    campaign: message.campaign,",
  ],
  ["server/store/tables.ts", "    externalMessageId: orNull(TEXT),", "    campaign: orNull(TEXT),"],
  [
    "server/engine/messages/accept.ts",
    "    externalMessageId: wanted.externalMessageId ?? null,",
    "    campaign: wanted.campaign ?? null,",
  ],
];

/** A test of the copy: a caller gives the field, and reads it in the response, in the record and in no other message. */
const SEEN = `
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startNotifiedService } from "../support/notified.ts";
const { api, stop } = await startNotifiedService();
after(stop);
test("a field that a request gives is in the record", async () => {
  const send = (more: object) => api.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "Hello" }, ...more } });
  const { data } = await send({ campaign: "spring" });
  assert.equal(data.campaign, "spring");
  assert.equal((await api.ask("GET", \`/v1/messages/\${data.id}\`)).data.campaign, "spring");
  assert.equal((await send({})).data.campaign, null);
  assert.equal((await send({ campaign: "" })).error?.code, "VALIDATION_ERROR");
});
`;

test("a new field of a message is in requests, records, both databases and the client by the steps of the guide alone", async (t) => {
  const root = emptyDirectory(t);
  for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const guide = readFileSync(join(root, "docs/architecture.md"), "utf8");
  const section = guide.slice(guide.indexOf("### A field of a message"), guide.indexOf("### An event"));
  const files = new Set([...section.matchAll(/^\d\. `([^`]+)`/gm)].map(([, file = ""]) => file));
  assert.deepEqual(files, new Set(STEPS.map(([file]) => file)), "the guide names these files and no other");
  for (const [file, behind, line] of STEPS) {
    const path = join(root, file);
    const before = readFileSync(path, "utf8");
    assert.equal(before.split(behind).length, 2, `${file} has this once: ${behind}`);
    writeFileSync(path, before.replace(behind, `${behind}\n${line}`));
  }
  writeFileSync(join(root, "test/api/campaign.test.ts"), SEEN);
  // Its own run of tests, and not a part of this one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const npm = (...args: string[]) => run("npm", ["--prefix", root, ...args], { cwd: root, env });
  for (const script of ["wire", "schema"]) await npm("run", script);
  await run(join(root, "node_modules/.bin/tsc"), ["-p", root], { cwd: root });
  await npm("test", "--", "test/api/campaign", "store/tables", "postgres/split-timelines");
});

/** Which changes make the build stale: those of the console's sources, and those of what the documentation is made of. */

import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { CHAPTERS } from "../site/contents.ts";
import { BUILT_FROM, hashSources, isBuilt } from "./sources.ts";

const SOURCES = [
  ...["console/index.html", "console/docs/main.ts", "contract/messages.ts", "contract/operations/messages.ts"],
  ...["sdk/wire.ts", "site/curl.ts", "server/api/openapi/document.ts", "server/pages/service-url.ts"],
  ...CHAPTERS.flatMap(({ pages }) => pages.map(({ file }) => file)),
];

test("a build is stale after a change of any of its sources, and of no test", (t) => {
  const root = mkdtempSync(join(tmpdir(), "tightbeam-sources-"));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const build = () => write(`dist/console/${BUILT_FROM}`, `${hashSources(root)}\n`);
  for (const path of SOURCES) write(path, "");
  assert.equal(isBuilt(root), false);
  for (const path of SOURCES) {
    build();
    assert.equal(isBuilt(root), true);
    appendFileSync(join(root, path), "changed");
    assert.equal(isBuilt(root), false, path);
  }
  build();
  write("site/curl.test.ts", "");
  assert.equal(isBuilt(root), true);
});

/** `.ci/pin-images`, with a stand-in for Docker: every image of others gets the digest of its tag, and ours none. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { emptyDirectory } from "./support/cli.ts";

const ROOT = join(import.meta.dirname, "..");
const FILES = ["Dockerfile", ...globSync("deploy/*.yaml", { cwd: ROOT }).sort()];

/** Prints what `docker buildx imagetools inspect <image>` prints: the digest is made of `seed` and the length of the name. */
const DOCKER = `#!/bin/sh
[ "$1 $2 $3" = "buildx imagetools inspect" ] || exit 9
[ "$4" != "$BROKEN" ] || { echo "ERROR: $4: not found" >&2; exit 1; }
printf 'Name:      docker.io/library/%s\\nMediaType: x\\nDigest:    sha256:%064d\\n\\nManifests:\\n  Digest: sha256:other\\n' "$4" "$SEED\${#4}"
`;

/** The repository's images and script in a directory of its own, beside the stand-in. */
function copyFor(t: TestContext) {
  const root = emptyDirectory(t);
  for (const path of [...FILES, ".ci/pin-images"]) cpSync(join(ROOT, path), join(root, path));
  mkdirSync(join(root, "bin"));
  writeFileSync(join(root, "bin/docker"), DOCKER);
  chmodSync(join(root, "bin/docker"), 0o755);
  const read = () => FILES.map((path) => readFileSync(join(root, path), "utf8")).join("");
  const pin = (env: Record<string, string>) =>
    spawnSync(join(root, ".ci/pin-images"), {
      env: { PATH: `${root}/bin:${process.env.PATH}`, ...env },
      encoding: "utf8",
    });
  return { read, pin };
}

/** The images that the text names, without the words around them. */
function imagesIn(text: string): string[] {
  return [...text.matchAll(/^(?:FROM|\s*image:)\s+(\S+)/gm)].map(([, image = ""]) => image);
}

const digestOf = (image: string, seed: number) => `${image}@sha256:${`${seed}${image.length}`.padStart(64, "0")}`;
/** `tightbeam` is built here, and the operator's registry has an image of the operator. */
const isOwn = (image: string) => image === "tightbeam" || image.startsWith("registry.example.com/");

test("a release pins every image of others to the digest of its tag, and a later one to the digest that the tag has then", (t) => {
  const { read, pin } = copyFor(t);
  const before = imagesIn(read()).map((image) => image.replace(/@.*/, ""));
  assert.ok(before.filter((image) => !isOwn(image)).length >= 5, `${before}`);
  const unpinned = read();
  for (const seed of [1, 2]) {
    const { status, stderr } = pin({ SEED: `${seed}` });
    assert.equal(status, 0, stderr);
    assert.deepEqual(
      imagesIn(read()),
      before.map((image) => (isOwn(image) ? image : digestOf(image, seed))),
    );
  }
  assert.equal(read().replace(/@sha256:\d+/g, ""), unpinned.replace(/@sha256:[0-9a-f]+/g, ""), "nothing else changed");
});

test("if one tag cannot be resolved, no file changes", (t) => {
  const { read, pin } = copyFor(t);
  const before = read();
  const { status, stderr } = pin({ SEED: "1", BROKEN: "node:24-trixie-slim" });
  assert.notEqual(status, 0);
  assert.match(stderr, /node:24-trixie-slim: not found/);
  assert.equal(read(), before);
});

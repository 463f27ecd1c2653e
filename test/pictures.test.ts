/** The pictures of the docs: every screen has its four, every picture is shown, and they stay small. */

import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { pictureOf, SCREENS, VIEWS } from "./support/screens.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PICTURE_BYTES_MAX = 120_000;
const ALL_BYTES_MAX = 4_000_000;

const pictures = globSync("docs/images/*", { cwd: ROOT }).sort();

/** The pictures that a document shows. */
function shownIn(path: string): string[] {
  const text = readFileSync(join(ROOT, path), "utf8");
  const links = [...text.matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g)];
  return links.map(([, one, other]) => join(dirname(path), one ?? other ?? ""));
}

test("every screen has a picture in both themes and at both widths, and no other picture is there", () => {
  const wanted = SCREENS.flatMap((screen) => VIEWS.map((view) => relative(ROOT, pictureOf(screen, view))));
  assert.deepEqual(pictures, wanted.sort());
});

test("docs/console.md shows every picture, and no document one that is not there", () => {
  assert.deepEqual(shownIn("docs/console.md").sort(), pictures);
  const shown = globSync("{*.md,docs/**/*.md}", { cwd: ROOT }).flatMap(shownIn);
  assert.deepEqual(
    shown.filter((path) => !pictures.includes(path)),
    [],
  );
});

test("a picture is small, and so are all of them", () => {
  const sizes = pictures.map((path) => statSync(join(ROOT, path)).size);
  assert.ok(Math.max(...sizes) <= PICTURE_BYTES_MAX);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= ALL_BYTES_MAX);
});

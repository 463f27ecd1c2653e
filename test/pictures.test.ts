/** The pictures of the docs: every screen has its four, every picture is shown, the recording moves, and they stay small. */

import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { pictureOf, RECORDING, SCREENS, VIEWS } from "./support/screens.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PICTURE_BYTES_MAX = 120_000;
const ALL_BYTES_MAX = 4_000_000;
const RECORDING_BYTES_MAX = 1_200_000;
/** The time in which the README promises the same walk. */
const RECORDING_MS_MAX = 120_000;

const pictures = globSync("docs/images/*", { cwd: ROOT }).sort();

/** The pictures that a document shows. */
function shownIn(path: string): string[] {
  const text = readFileSync(join(ROOT, path), "utf8");
  const links = [...text.matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g)];
  return links.map(([, one, other]) => join(dirname(path), one ?? other ?? ""));
}

test("every screen has a picture in both themes and at both widths, and no other picture is there but the recording", () => {
  const screens = SCREENS.flatMap((screen) => VIEWS.map((view) => pictureOf(screen, view)));
  const wanted = [...screens, RECORDING.moving, RECORDING.still].map((path) => relative(ROOT, path));
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
  const stills = pictures.filter((path) => path !== relative(ROOT, RECORDING.moving));
  const sizes = stills.map((path) => statSync(join(ROOT, path)).size);
  assert.ok(Math.max(...sizes) <= PICTURE_BYTES_MAX);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= ALL_BYTES_MAX);
});

/** The durations of the frames of an animated WebP, in milliseconds: RIFF chunks, of which `ANMF` is a frame. */
function frameDurations(webp: Buffer): number[] {
  const durations: number[] = [];
  for (let at = 12; at + 8 <= webp.length; at += 8 + webp.readUInt32LE(at + 4) + (webp.readUInt32LE(at + 4) % 2))
    if (webp.toString("latin1", at, at + 4) === "ANMF") durations.push(webp.readUIntLE(at + 8 + 12, 3));
  return durations;
}

test("the recording from a clone to a webhook moves, is shorter than the walk it shows may be, and is small", () => {
  const webp = readFileSync(RECORDING.moving);
  const durations = frameDurations(webp);
  assert.ok(durations.length >= 50, `${durations.length} frames`);
  assert.ok(durations.reduce((sum, one) => sum + one, 0) <= RECORDING_MS_MAX);
  assert.ok(webp.length <= RECORDING_BYTES_MAX, `${webp.length} bytes`);
  assert.deepEqual(frameDurations(readFileSync(RECORDING.still)), []);
});

/** The JSON examples of the documents are what the reference says: no field is unknown, missing or of another form. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { createValidator, readDocument } from "./support/contract.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The schema of each JSON example, in the order of its document. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  "docs/attachments.md": ["SendMessage", "Attachment"],
  "docs/errors.md": ["Error"],
  "docs/events.md": ["Event"],
  "docs/guides/attachments.md": ["SendMessage"],
};

function examplesOf(path: string): string[] {
  const blocks = readFileSync(join(ROOT, path), "utf8").matchAll(/^```json\n(.*?)^```$/gms);
  return [...blocks].map(([, text = ""]) => text);
}

test("each JSON example of a document is valid for its schema", async () => {
  const { assertValid } = createValidator(readDocument());
  for (const [path, names] of Object.entries(EXAMPLES)) {
    const examples = examplesOf(path);
    assert.equal(examples.length, names.length, `${path} has other examples than the table here`);
    for (const [index, name] of names.entries())
      assertValid(`/components/schemas/${name}`, JSON.parse(examples[index] ?? ""), `example ${index + 1} of ${path}`);
  }
});

test("every document with JSON examples is checked", () => {
  const documents = globSync(["*.md", "docs/**/*.md"], { cwd: ROOT }).filter((path) => examplesOf(path).length > 0);
  assert.deepEqual(documents.sort(), Object.keys(EXAMPLES));
});

/** Reads the body of a row with its attributes: it names the files of a message before Messages has linked them. Pure. */

import { listOf, recordOf, textOf } from "../../core/loose-json.ts";

/** A file that a body names. `guid` is the guid that its attachment has, or will have; `filename` is the sender's. */
export interface NamedFile {
  guid: string;
  filename: string | null;
}

/** Attributes of a run of characters that stands for a file. */
const GUID = "__kIMFileTransferGUIDAttributeName";
const FILENAME = "__kIMFilenameAttributeName";

/** The files that a body names, each once, in their order. None for a value that is no body. */
export function namedFilesOf(attributedBody: unknown): readonly NamedFile[] {
  const bodies = Array.isArray(attributedBody) ? attributedBody : [attributedBody];
  const files = bodies.flatMap((body) => listOf(recordOf(body)?.runs, fileOfRun));
  return [...new Map(files.map((file) => [file.guid, file])).values()];
}

function fileOfRun(run: unknown): NamedFile | null {
  const attributes = recordOf(recordOf(run)?.attributes);
  const guid = textOf(attributes?.[GUID]);
  return guid === null || guid === "" ? null : { guid, filename: textOf(attributes?.[FILENAME]) };
}

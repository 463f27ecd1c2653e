/** Problems of a form: the details of a refusal, sorted by the fields of the form. Pure. */

import { TightbeamError } from "../../sdk/errors.ts";
import type { ErrorDetail } from "../../sdk/wire.ts";
import { capitalized } from "./formats.ts";

/** A refusal as a form shows it. */
export interface FormProblems {
  /** The sentences about each field, by the field's name. A field without problems is not in it. */
  readonly atFields: ReadonlyMap<string, string>;
  /** Whether the refusal, or a detail of it, is about no field of the form. */
  readonly isElsewhere: boolean;
}

/**
 * Sorts the details of a refusal by the names of a form's fields, which are paths of the request such as `content.text`. A field
 * takes the details about its own path, about a part of its value (`events[2]`), and about the object that holds it.
 */
export function problemsOf(error: unknown, names: readonly string[]): FormProblems {
  const details = error instanceof TightbeamError ? error.details : [];
  const atFields = new Map<string, string>();
  for (const detail of details) {
    const name = fieldOf(detail.path, names);
    if (name === undefined) continue;
    const before = atFields.get(name);
    const sentence = sentenceOf(detail, name);
    atFields.set(name, before === undefined ? sentence : `${before} ${sentence}`);
  }
  const isElsewhere = details.length === 0 || details.some(({ path }) => fieldOf(path, names) === undefined);
  return { atFields, isElsewhere };
}

function fieldOf(path: string, names: readonly string[]): string | undefined {
  return (
    names.find((name) => name === path) ??
    names.find((name) => isWithin(path, name)) ??
    names.find((name) => isWithin(name, path))
  );
}

/** Whether a path is of a part of the value at another path. */
function isWithin(path: string, whole: string): boolean {
  return path.startsWith(`${whole}.`) || path.startsWith(`${whole}[`);
}

/** A detail of the field itself needs no name in front. */
function sentenceOf({ path, message }: ErrorDetail, name: string): string {
  return path === name ? `${capitalized(message)}.` : `${path}: ${message}.`;
}

/** Bounds what a provider reports, whatever its peer sent. Pure. */

import { boundNames } from "../core/bound-names.ts";
import { cutTexts } from "../core/cut-texts.ts";
import type { InboundSignal, RevisionSignal, Signal } from "../providers/provider.ts";

/** A signal whose texts have at most 64 KiB. `textTruncated`: its own text was cut for that. */
export type BoundedSignal<Reported extends InboundSignal | RevisionSignal> = Reported & { textTruncated?: true };

/** The signal with all of its texts and names cut; an inbound message and an edit say so of their text. */
export function boundedSignal(signal: Signal): Signal | BoundedSignal<InboundSignal | RevisionSignal> {
  const cut = cutTexts(boundNames(signal));
  if (!("text" in cut && "text" in signal) || cut.kind === "written" || cut.text === signal.text) return cut;
  return { ...cut, textTruncated: true };
}

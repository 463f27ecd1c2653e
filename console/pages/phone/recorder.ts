/** Records what is done on the phones, and the events that follow, while the reader wants it. */

import { useRef, useState } from "react";
import { useLiveEvents } from "../../api/context.ts";
import { toastError } from "../../parts/toasts.tsx";
import type { NoteAct, Step } from "./recording.ts";

/** A recording that somebody has forgotten ends here. */
const STEPS_MAX = 1_000;

/** A recorder. */
export interface Recorder {
  isRecording: boolean;
  steps: readonly Step[];
  /** Begins anew. */
  start: () => void;
  stop: () => void;
  /** Forgets the recording. */
  clear: () => void;
  /** Notes an action while somebody records; shows the error of a refused one at any time. */
  note: NoteAct;
}

/** A step and its place: an event may arrive before the answer to the action that it follows from. */
interface PlacedStep {
  place: number;
  step: Step;
}

/** A recorder that lives as long as the screen. */
export function useRecorder(): Recorder {
  const [isRecording, setRecording] = useState(false);
  const [placed, setPlaced] = useState<readonly PlacedStep[]>([]);
  const lastPlace = useRef(0);
  const takePlace = () => {
    lastPlace.current += 1;
    return lastPlace.current;
  };
  const add = (steps: readonly PlacedStep[]) => {
    if (isRecording) setPlaced((before) => [...before, ...steps].slice(0, STEPS_MAX));
  };
  useLiveEvents((events) => add(events.map((saw) => ({ place: takePlace(), step: { saw } }))));
  return {
    isRecording,
    steps: placed.toSorted((one, other) => one.place - other.place).map(({ step }) => step),
    start: () => {
      setPlaced([]);
      setRecording(true);
    },
    stop: () => setRecording(false),
    clear: () => setPlaced([]),
    note: (act, onError = toastError) => {
      const place = takePlace();
      act.then((step) => add([{ place, step }]), onError);
    },
  };
}

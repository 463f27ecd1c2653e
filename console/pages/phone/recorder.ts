/** Records what is done on the phones, and the events that follow, while the reader wants it. */

import { useState } from "react";
import { useLiveEvents } from "../../api/context.ts";
import type { PhoneAct, Step } from "./recording.ts";

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
  /** Notes an action; does nothing while nobody records. */
  note: (act: PhoneAct) => void;
}

/** A recorder that lives as long as the screen. */
export function useRecorder(): Recorder {
  const [isRecording, setRecording] = useState(false);
  const [steps, setSteps] = useState<readonly Step[]>([]);
  useLiveEvents((events) => {
    if (isRecording) setSteps((before) => [...before, ...events.map((saw) => ({ saw }))].slice(0, STEPS_MAX));
  });
  return {
    isRecording,
    steps,
    start: () => {
      setSteps([]);
      setRecording(true);
    },
    stop: () => setRecording(false),
    clear: () => setSteps([]),
    note: (act) => {
      if (isRecording) setSteps((before) => [...before, act]);
    },
  };
}

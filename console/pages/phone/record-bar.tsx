/** The bar above the phones: record what is clicked, run the recording, and take it along as a test. */

import { type ReactNode, useState } from "react";
import { playSteps } from "../../../sdk/play-steps.ts";
import { useApi } from "../../api/context.ts";
import { Button } from "../../parts/button.tsx";
import { copyAndSay } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { counted } from "../../parts/formats.ts";
import { Icon } from "../../parts/icons.tsx";
import { toastError } from "../../parts/toasts.tsx";
import type { Recorder } from "./recorder.ts";
import { recordedSteps, TEST_FILE, testOf } from "./recording.ts";

/** The bar; `children` are its other buttons. */
export function RecordBar({ recorder, children }: { recorder: Recorder; children: ReactNode }) {
  const { isRecording, steps } = recorder;
  return (
    <div className="flex shrink-0 items-center gap-2 border-b px-3 py-2">
      <Button
        icon={isRecording ? "stop" : "play"}
        tone={isRecording ? "danger" : "plain"}
        onClick={isRecording ? recorder.stop : recorder.start}
      >
        {isRecording ? "Stop" : "Record a test"}
      </Button>
      {isRecording && (
        <span role="status" className="flex items-center gap-2 truncate text-soft">
          <span className="pulse-dot size-2 shrink-0 rounded-full bg-bad" />
          {steps.length === 0 ? "Write, react, send: all of it becomes a test." : counted(steps.length, "step")}
        </span>
      )}
      <span className="flex-1" />
      {children}
      {!isRecording && steps.length > 0 && <Recording recorder={recorder} />}
    </div>
  );
}

/** The recording as a test. */
function Recording({ recorder }: { recorder: Recorder }) {
  const steps = recordedSteps(recorder.steps);
  const { played, isRunning, run } = useRun(steps);
  const code = testOf(steps, "recorded on the phone", location.origin);
  return (
    <Dialog
      open
      onClose={recorder.clear}
      title="The recording as a test"
      actions={
        <>
          <Button onClick={recorder.clear}>Close</Button>
          <Button icon="play" disabled={isRunning} onClick={run}>
            Run here
          </Button>
          <Button icon="arrowDown" onClick={() => save(code)}>
            Save {TEST_FILE}
          </Button>
          <Button tone="primary" icon="copy" onClick={() => void copyAndSay(code, "The test")}>
            Copy
          </Button>
        </>
      }
    >
      <p className="pb-2 text-soft">
        It does what you did, and waits for what happened. Its first lines say how to run it.
      </p>
      {played.length > 0 && (
        <ol aria-label="Results" className="pb-2">
          {played.map((result, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps keep their places, and two may have one name.
            <Result key={at} {...result} />
          ))}
        </ol>
      )}
      <pre
        tabIndex={0}
        className="max-h-[48vh] overflow-auto rounded-lg border bg-panel p-3 font-mono text-xs leading-5 scroll-thin"
      >
        {code}
      </pre>
    </Dialog>
  );
}

/** A step that runs (`passed` is null) or has ended. */
interface PlayedStep {
  name: string;
  passed: boolean | null;
  reason: string | null;
}

function Result({ name, passed, reason }: PlayedStep) {
  const word = passed === null ? "runs" : passed ? "passed" : "failed";
  const colour = passed === null ? "text-soft" : passed ? "text-good" : "text-bad";
  return (
    <li className="flex gap-2 py-0.5">
      <span className={`pt-0.5 ${colour}`}>
        <Icon name={passed === null ? "clock" : passed ? "check" : "close"} size={14} />
        <span className="sr-only">{word}</span>
      </span>
      <span className="min-w-0 break-words">
        {name}
        {reason !== null && <span className="block text-bad">{reason}</span>}
      </span>
    </li>
  );
}

/** Runs the steps against this service, and keeps the result of each. */
function useRun(steps: Parameters<typeof playSteps>[1]) {
  const api = useApi();
  const [played, setPlayed] = useState<readonly PlayedStep[]>([]);
  const [isRunning, setRunning] = useState(false);
  const runStep = async (name: string, act: () => Promise<void>) => {
    const end = (passed: boolean, reason: string | null) =>
      setPlayed((before) => [...before.slice(0, -1), { name, passed, reason }]);
    setPlayed((before) => [...before, { name, passed: null, reason: null }]);
    await act().then(
      () => end(true, null),
      (error: Error) => end(false, error.message),
    );
  };
  const run = () => {
    setPlayed([]);
    setRunning(true);
    playSteps(api, steps, runStep)
      .catch(toastError)
      .finally(() => setRunning(false));
  };
  return { played, isRunning, run };
}

function save(code: string): void {
  const url = URL.createObjectURL(new Blob([code], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = TEST_FILE;
  link.click();
  URL.revokeObjectURL(url);
}

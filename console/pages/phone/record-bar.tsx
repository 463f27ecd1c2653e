/** The bar above the phones: record what is clicked, and take it along as a test. */

import type { ReactNode } from "react";
import { Button } from "../../parts/button.tsx";
import { copyAndSay } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { counted } from "../../parts/formats.ts";
import type { Recorder } from "./recorder.ts";
import { testOf } from "./recording.ts";

const FILE = "recorded.test.ts";

/** The bar; `children` are its other buttons. */
export function RecordBar({ recorder, children }: { recorder: Recorder; children: ReactNode }) {
  const { isRecording, steps } = recorder;
  const isDone = !isRecording && steps.length > 0;
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
      <Dialog
        open={isDone}
        onClose={recorder.clear}
        title="The recording as a test"
        actions={
          <>
            <Button onClick={recorder.clear}>Close</Button>
            <Button icon="arrowDown" onClick={() => save(codeOf(recorder))}>
              Save {FILE}
            </Button>
            <Button tone="primary" icon="copy" onClick={() => void copyAndSay(codeOf(recorder), "The test")}>
              Copy
            </Button>
          </>
        }
      >
        <p className="pb-2 text-soft">
          It does what you did, and waits for what happened. Run it with <code className="font-mono">node --test</code>.
        </p>
        <pre
          tabIndex={0}
          className="max-h-[48vh] overflow-auto rounded-lg border bg-panel p-3 font-mono text-xs leading-5 scroll-thin"
        >
          {isDone && codeOf(recorder)}
        </pre>
      </Dialog>
    </div>
  );
}

function codeOf({ steps }: Recorder): string {
  return testOf(steps, "recorded on the phone", location.origin);
}

function save(code: string): void {
  const url = URL.createObjectURL(new Blob([code], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = FILE;
  link.click();
  URL.revokeObjectURL(url);
}

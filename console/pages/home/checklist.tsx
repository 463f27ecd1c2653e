/** The checklist of the first five minutes: each step ticks itself, has the line to paste, and a button that does or shows it. */

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import type { Inbox } from "../../../sdk/wire.ts";
import { useSendMessage } from "../../api/messages.ts";
import { useFailInbox, useMoveClock, useWriteAsContact } from "../../api/sandbox.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { CodeBlock, type Snippets } from "../../parts/code-block.tsx";
import { formatClock, formatExact } from "../../parts/formats.ts";
import { Icon } from "../../parts/icons.tsx";
import { usePreference } from "../../parts/preference.ts";
import { type ApiCall, snippetsOf } from "../../parts/snippets.ts";
import { toast, toastError } from "../../parts/toasts.tsx";
import { ANSWER, HELLO, READ_INBOX, REPLY, SEND } from "./first-calls.ts";
import type { Proof, StepName } from "./first-steps.ts";
import { Receipts } from "./receipts.tsx";

interface Step {
  title: string;
  text: string;
  call: ApiCall;
  verb: string;
  /** How your own receiver does the same. */
  own?: { text: string; snippets: Snippets };
}

const STEPS: Record<StepName, Step> = {
  send: {
    title: "Send a message",
    text: "To your phone in the sandbox: it has iMessage, and does nothing by itself.",
    call: SEND,
    verb: "Send it",
  },
  reply: {
    title: "Get a reply",
    text: "Answer as the contact: it arrives as message.inbound.",
    call: ANSWER,
    verb: "Reply",
  },
  webhook: {
    title: "See a webhook answered with 2xx",
    text: "Every event is POSTed to each receiver. The built-in inbox is the first one: it answers by itself, and ticks this step as soon as a message is sent.",
    call: READ_INBOX,
    verb: "Show it on the Wire",
    own: {
      text: "Your own server, on any port of this machine:",
      snippets: { cli: "npx tightbeam listen --forward-to http://localhost:3000/hook" },
    },
  },
  signature: {
    title: "See a signature verified",
    text: "The built-in inbox checks X-Signature of every webhook with its secret, so that this step ticks by itself too. Check one by hand to see what it is made of.",
    call: READ_INBOX,
    verb: "Check one by hand",
    own: {
      text: "Your own server checks it with the secret of its endpoint:",
      snippets: {
        typescript: [
          'import { createServer } from "node:http";',
          'import { env } from "node:process";',
          'import { expressWebhookHandler } from "@tightbeam/sdk";',
          "",
          "const secret = env.WEBHOOK_SECRET; // npx tightbeam listen --print-secret",
          'const handlers = { "*": ({ type }) => console.log(type) };',
          "createServer(expressWebhookHandler(handlers, { secret })).listen(3000);",
        ].join("\n"),
      },
    },
  },
  retry: {
    title: "See a retry",
    text: "Let the inbox answer 503 once: half a minute later the event comes again, with the same bytes. The sandbox's clock shortens the wait.",
    call: {
      method: "PUT",
      path: "/v1/sandbox/inbox/behaviour",
      body: { failFirst: 1 },
      typescript: "tightbeam.sandbox.inbox.behave({ failFirst: 1 })",
    },
    verb: "Fail once, and send",
  },
};

/** Steps that the inbox has the proof of. */
const SHOWS_RECEIPTS: ReadonlySet<StepName> = new Set(["webhook", "signature", "retry"]);

/** The verbs of the steps. */
function useStepVerbs(): { run: (name: StepName) => void; isBusy: boolean } {
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const send = useSendMessage();
  const write = useWriteAsContact();
  const fail = useFailInbox();
  const [, showWire] = usePreference("wire", "closed");
  const onFailing = () => {
    void cache.invalidateQueries();
    toast("The inbox answers 503 once. Move the clock by a minute, and the event comes again.");
  };
  const sendHello = (onSent: (id: string) => void) =>
    send.mutate(HELLO, { onSuccess: ({ id }) => onSent(id), onError: toastError });
  const run = (name: StepName) => {
    switch (name) {
      case "send":
        return sendHello((id) => navigate(`/m/${id}`));
      case "reply":
        return write.mutate(
          { number: HELLO.to, message: REPLY },
          { onSuccess: ({ id }) => navigate(`/m/${id}`), onError: toastError },
        );
      case "webhook":
        return showWire("open");
      case "signature":
        return navigate("/webhooks/check");
      case "retry":
        return fail.mutate(1, { onSuccess: () => sendHello(onFailing), onError: toastError });
    }
  };
  return { run, isBusy: send.isPending || write.isPending || fail.isPending };
}

interface ChecklistProps {
  steps: readonly StepName[];
  done: ReadonlySet<StepName>;
  /** How it is known that a step was done: none of a step that this browser remembers alone. */
  proofs: ReadonlyMap<StepName, Proof>;
  /** The inbox, if there is one: it shows what it received. */
  inbox: Inbox | undefined;
  onDismiss: () => void;
}

/** The checklist. The first step that is not done is open. */
export function Checklist({ steps, done, proofs, inbox, onDismiss }: ChecklistProps) {
  const [chosen, setChosen] = useState<StepName | null>(null);
  const open = chosen ?? steps.find((name) => !done.has(name)) ?? null;
  const { run, isBusy } = useStepVerbs();
  return (
    <section aria-labelledby="first-steps" className="overflow-hidden rounded-xl border bg-raised">
      <header className="flex items-center gap-2 border-b py-2 pr-2 pl-4">
        <h2 id="first-steps" className="flex-1 text-base font-semibold">
          First five minutes
        </h2>
        <span className="text-soft tabular-nums">
          {done.size} of {steps.length}
        </span>
        <IconButton label="Dismiss the first steps" icon="close" onClick={onDismiss} />
      </header>
      <ol>
        {steps.map((name, index) => (
          <li key={name} className={index === 0 ? "" : "border-t"}>
            <StepRow
              step={STEPS[name]}
              number={index + 1}
              isDone={done.has(name)}
              proof={proofs.get(name)}
              isOpen={open === name}
              isBusy={isBusy}
              onToggle={() => setChosen(name)}
              onRun={() => run(name)}
              found={SHOWS_RECEIPTS.has(name) && inbox !== undefined && <Receipts inbox={inbox} />}
            >
              {name === "retry" && <SkipMinute />}
            </StepRow>
          </li>
        ))}
      </ol>
    </section>
  );
}

interface StepRowProps {
  step: Step;
  number: number;
  isDone: boolean;
  proof: Proof | undefined;
  isOpen: boolean;
  isBusy: boolean;
  onToggle: () => void;
  onRun: () => void;
  /** The record that shows that the step was done. */
  found: ReactNode;
  /** More verbs. */
  children: ReactNode;
}

/** Moves the sandbox's clock on, so that what is due comes now. */
function SkipMinute() {
  const move = useMoveClock();
  const run = () =>
    move.mutate("1m", { onSuccess: () => toast("The clock is a minute further."), onError: toastError });
  return (
    <Button icon="clock" disabled={move.isPending} onClick={run}>
      Move the clock by a minute
    </Button>
  );
}

/** Which receiver did a step, and when. */
function DoneBy({ proof: { by, at } }: { proof: Proof }) {
  const instant = Date.parse(at);
  return (
    <span className="text-xs text-faint">
      {by !== null && `by ${by} `}at{" "}
      <time dateTime={at} title={formatExact(instant)} className="tabular-nums">
        {formatClock(instant).slice(0, "hh:mm:ss".length)}
      </time>
    </span>
  );
}

function StepRow({ step, number, isDone, proof, isOpen, isBusy, onToggle, onRun, found, children }: StepRowProps) {
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex w-full items-center gap-3 px-4 py-2.5 text-left outline-offset-[-2px] hover:bg-hover"
      >
        <span
          className={`flex size-5 shrink-0 items-center justify-center rounded-full text-xs tabular-nums ${isDone ? "bg-good-soft text-good" : "border border-strong-line text-soft"}`}
        >
          {isDone ? <Icon name="check" size={12} /> : number}
        </span>
        <span className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-3">
          <span className={isDone ? "text-soft" : "font-medium"}>
            {step.title}
            {isDone && <span className="sr-only"> (done)</span>}
          </span>
          {proof !== undefined && <DoneBy proof={proof} />}
        </span>
        <Icon name={isOpen ? "chevronDown" : "chevronRight"} size={12} className="text-faint" />
      </button>
      {isOpen && (
        <div className="flex flex-col gap-3 px-4 pb-4 sm:pl-12">
          <p className="text-soft">{step.text}</p>
          {found}
          <CodeBlock label={step.title} first="cli" snippets={snippetsOf(step.call, location.origin)} />
          {step.own !== undefined && (
            <>
              <p className="text-soft">{step.own.text}</p>
              <CodeBlock label={`${step.title}: your own server`} snippets={step.own.snippets} />
            </>
          )}
          <div className="flex flex-wrap gap-2">
            <Button tone={isDone ? "plain" : "primary"} icon="play" disabled={isBusy} onClick={onRun}>
              {step.verb}
            </Button>
            {children}
          </div>
        </div>
      )}
    </>
  );
}

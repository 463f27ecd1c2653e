/** The checklist of the first five minutes: each step ticks itself, has the line to paste, and a button that does it. */

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { useSendMessage } from "../../api/messages.ts";
import { useFailInbox, useMoveClock, useWriteAsContact } from "../../api/sandbox.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Icon } from "../../parts/icons.tsx";
import { type ApiCall, snippetsOf } from "../../parts/snippets.ts";
import { toast, toastError } from "../../parts/toasts.tsx";
import type { StepName } from "./first-steps.ts";

interface Step {
  name: StepName;
  title: string;
  text: string;
  call: ApiCall;
  verb: string;
}

const HELLO = { to: "+15005550100", content: { text: "Hello" } };
const REPLY = { text: "Hi! Who is this?" };
const REPLY_PATH = "/v1/sandbox/phones/+15005550100/messages";

const STEPS: readonly Step[] = [
  {
    name: "send",
    title: "Send a message",
    text: "To a phone of the sandbox, which has iMessage and reads what it gets.",
    call: {
      method: "POST",
      path: "/v1/messages",
      body: HELLO,
      typescript: `tightbeam.messages.send(${JSON.stringify(HELLO)})`,
      cli: 'send +15005550100 "Hello"',
    },
    verb: "Send it",
  },
  {
    name: "reply",
    title: "Get a reply",
    text: "Write back from that phone: it arrives as message.inbound.",
    call: {
      method: "POST",
      path: REPLY_PATH,
      body: REPLY,
      typescript: `tightbeam.sandbox.phone("+15005550100").write(${JSON.stringify(REPLY)})`,
      cli: 'sandbox phone +15005550100 say "Hi! Who is this?"',
    },
    verb: "Reply",
  },
  {
    name: "webhook",
    title: "See a webhook answered with 2xx",
    text: "Every event is POSTed to your endpoints; the built-in inbox is the first one.",
    call: { method: "GET", path: "/v1/sandbox/inbox", typescript: "tightbeam.sandbox.inbox.get()", cli: "inbox" },
    verb: "Send one more",
  },
  {
    name: "signature",
    title: "Verify a signature",
    text: "The inbox checks X-Signature with its secret, as your server will.",
    call: {
      method: "GET",
      path: "/v1/sandbox/inbox",
      typescript: "tightbeam.sandbox.inbox.get()",
      cli: "inbox",
    },
    verb: "Send one more",
  },
  {
    name: "retry",
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
];

/** The verbs of the steps. */
function useStepVerbs(): { run: (name: StepName) => void; isBusy: boolean } {
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const send = useSendMessage();
  const write = useWriteAsContact();
  const fail = useFailInbox();
  const refresh = () => void cache.invalidateQueries();
  const sendHello = (onSent: (id: string) => void) =>
    send.mutate(HELLO, { onSuccess: ({ id }) => onSent(id), onError: toastError });
  const run = (name: StepName) => {
    if (name === "reply") {
      write.mutate(
        { number: HELLO.to, message: REPLY },
        { onSuccess: ({ id }) => navigate(`/m/${id}`), onError: toastError },
      );
    } else if (name === "retry") {
      const onSent = () => {
        refresh();
        toast("The inbox answers 503 once. Move the clock by a minute, and the event comes again.");
      };
      fail.mutate(1, { onSuccess: () => sendHello(onSent), onError: toastError });
    } else if (name === "send") sendHello((id) => navigate(`/m/${id}`));
    else sendHello(refresh);
  };
  return { run, isBusy: send.isPending || write.isPending || fail.isPending };
}

/** The checklist. The first step that is not done is open. */
export function Checklist({ done }: { done: ReadonlySet<StepName> }) {
  const [chosen, setChosen] = useState<StepName | null>(null);
  const open = chosen ?? STEPS.find(({ name }) => !done.has(name))?.name ?? null;
  const { run, isBusy } = useStepVerbs();
  return (
    <section aria-labelledby="first-steps" className="overflow-hidden rounded-xl border bg-raised">
      <header className="flex items-center justify-between border-b px-4 py-3">
        <h2 id="first-steps" className="text-base font-semibold">
          First five minutes
        </h2>
        <span className="text-soft tabular-nums">
          {done.size} of {STEPS.length}
        </span>
      </header>
      <ol>
        {STEPS.map((step, index) => (
          <li key={step.name} className={index === 0 ? "" : "border-t"}>
            <StepRow
              step={step}
              number={index + 1}
              isDone={done.has(step.name)}
              isOpen={open === step.name}
              isBusy={isBusy}
              onToggle={() => setChosen(step.name)}
              onRun={() => run(step.name)}
            >
              {step.name === "retry" && <SkipMinute />}
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
  isOpen: boolean;
  isBusy: boolean;
  onToggle: () => void;
  onRun: () => void;
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

function StepRow({ step, number, isDone, isOpen, isBusy, onToggle, onRun, children }: StepRowProps) {
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
        <span className={isDone ? "text-soft" : "font-medium"}>{step.title}</span>
        {isDone && <span className="sr-only">(done)</span>}
        <Icon name={isOpen ? "chevronDown" : "chevronRight"} size={12} className="ml-auto text-faint" />
      </button>
      {isOpen && (
        <div className="flex flex-col gap-3 px-4 pb-4 sm:pl-12">
          <p className="text-soft">{step.text}</p>
          <CodeBlock label={step.title} snippets={snippetsOf(step.call, location.origin)} />
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

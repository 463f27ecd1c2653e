/** One message: what it says, how it stands, what can be done, and everything that followed from it. */

import { lazy, type ReactNode, Suspense, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Message } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { contactOf, useCancelMessage, useMessage, useRetryMessage } from "../../api/messages.ts";
import { pathOfPhone } from "../../parts/addresses.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Button, buttonClass } from "../../parts/button.tsx";
import { ContactName } from "../../parts/contact-name.tsx";
import { CopyId, copyAndSay } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icons.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { useKeys } from "../../parts/keys.ts";
import { Read } from "../../parts/read.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import { DetailHead } from "../../parts/split.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Time } from "../../parts/time.tsx";
import { toast, toastError } from "../../parts/toasts.tsx";
import { channelName, DeviceBadge } from "./columns.tsx";
import { Compose } from "./compose.tsx";
import { Timeline } from "./timeline.tsx";

const Consequences = lazy(async () => ({ default: (await import("./consequences.tsx")).Consequences }));
const RequestTab = lazy(async () => ({ default: (await import("./request-tab.tsx")).RequestTab }));

/** The detail. */
export function MessageDetail({ id, onClose }: { id: string; onClose: () => void }) {
  return <Read found={useMessage(id)}>{(message) => <Loaded message={message} onClose={onClose} />}</Read>;
}

function Loaded({ message, onClose }: { message: Message; onClose: () => void }) {
  const [tab, setTab] = useState("timeline");
  return (
    <>
      <DetailHead
        line={
          <>
            <h2 className="min-w-0 truncate text-lg font-semibold">
              <ContactName address={contactOf(message)} isWhole />
            </h2>
            <StatusBadge status={message.status} />
            <DeviceBadge origin={message.origin} />
            <span className="flex-1" />
            <span className="max-sm:hidden">
              <CopyId id={message.id} />
            </span>
          </>
        }
        onClose={onClose}
      >
        <Facts message={message} />
        {message.content.text !== null && (
          <p
            className={`max-h-32 w-fit max-w-full overflow-y-auto rounded-2xl px-3 py-1.5 text-base whitespace-pre-wrap ${bubbleOf(message)}`}
          >
            {message.content.text}
          </p>
        )}
        {message.errorMessage !== null && (
          <p className="flex items-start gap-1.5 text-bad">
            <Icon name="warning" size={14} className="mt-[3px]" />
            <span>
              {message.errorMessage} <code className="font-mono text-xs">{message.errorCode}</code>
            </span>
          </p>
        )}
        <Verbs message={message} />
      </DetailHead>
      <div className="min-h-0 flex-1 overflow-y-auto scroll-thin">
        <Tabs
          label="Parts of the message"
          value={tab}
          onChange={setTab}
          tabs={[
            { id: "timeline", title: "Timeline", content: <Timeline message={message} /> },
            {
              id: "events",
              title: "Events and deliveries",
              content: (
                <Later>
                  <Consequences messageId={message.id} />
                </Later>
              ),
            },
            {
              id: "request",
              title: "Request",
              content: (
                <Later>
                  <RequestTab message={message} />
                </Later>
              ),
            },
            { id: "json", title: "JSON", content: <JsonView value={message} label="the message" /> },
          ]}
        />
      </div>
    </>
  );
}

/** A tab whose code is loaded when it is opened. */
function Later({ children }: { children: ReactNode }) {
  return <Suspense fallback={<Loading />}>{children}</Suspense>;
}

function bubbleOf({ direction, channel }: Message): string {
  if (direction === "inbound") return "bg-bubble";
  return channel === "imessage" ? "bg-accent-solid text-white" : "bg-[#17723f] text-white";
}

function Facts({ message }: { message: Message }) {
  const facts = [
    message.direction === "inbound" ? `received by ${message.to}` : `from ${message.from}`,
    channelName(message.channel) +
      (message.segments === null ? "" : `, ${message.segments} ${message.segments === 1 ? "segment" : "segments"}`),
    message.fallbackTriggered ? "by fallback" : null,
    message.attachmentsDropped > 0
      ? `${message.attachmentsDropped} ${message.attachmentsDropped === 1 ? "file" : "files"} not sent`
      : null,
    message.retryCount > 0 ? `retried ${message.retryCount}×` : null,
    message.externalMessageId,
  ];
  return (
    <p className="text-soft">
      {facts.filter((fact) => fact !== null).join(" · ")} · <Time at={message.createdAt} />
      {message.scheduledAt !== null && message.status === "scheduled" && (
        <>
          {" · due "}
          <Time at={message.scheduledAt} />
        </>
      )}
      {message.parentMessageId !== null && (
        <>
          {" · reply to "}
          <RecordLink id={message.parentMessageId} />
        </>
      )}
    </p>
  );
}

function Verbs({ message }: { message: Message }) {
  const { session } = useConnected();
  const [, navigate] = useLocation();
  const [open, setOpen] = useState<"again" | "duplicate" | null>(null);
  const retry = useRetryMessage();
  const cancel = useCancelMessage();
  const isFailed = message.direction === "outbound" && message.status === "failed";
  const isUnknown = message.errorCode === "OUTCOME_UNKNOWN";
  const sendRetry = (mayDuplicate: boolean) => {
    setOpen(null);
    retry.mutate(
      { id: message.id, mayDuplicate },
      { onSuccess: () => toast("The message is queued again."), onError: toastError },
    );
  };
  const startRetry = () => (isUnknown ? setOpen("duplicate") : sendRetry(false));
  const startCancel = () =>
    cancel.mutate({ id: message.id }, { onSuccess: () => toast("The message is cancelled."), onError: toastError });
  const isOutbound = message.direction === "outbound";
  useKeys([
    {
      key: "y",
      label: "Copy the message's id",
      run: () => void copyAndSay(message.id, "The id"),
    },
    ...(isFailed ? [{ key: "r", label: "Retry the message", run: startRetry }] : []),
    ...(isOutbound && !isFailed ? [{ key: "r", label: "Send again", run: () => setOpen("again") }] : []),
  ]);
  return (
    <div className="flex flex-wrap gap-2">
      {isFailed && (
        <Button tone="primary" icon="retry" hint="r" disabled={retry.isPending} onClick={startRetry}>
          Retry
        </Button>
      )}
      {message.status === "scheduled" && (
        <Button icon="stop" disabled={cancel.isPending} onClick={startCancel}>
          Cancel
        </Button>
      )}
      {isOutbound && (
        <Button icon="send" onClick={() => setOpen("again")}>
          Send again
        </Button>
      )}
      {session.isSandbox && contactOf(message).startsWith("+") && (
        <Link href={pathOfPhone(contactOf(message))} className={buttonClass()}>
          <Icon name="phone" size={14} />
          Open in Phone
        </Link>
      )}
      <Compose
        open={open === "again"}
        onClose={() => setOpen(null)}
        onSent={(id) => navigate(`/m/${id}`)}
        initial={{ to: message.to, text: message.content.text ?? "" }}
      />
      <Dialog
        open={open === "duplicate"}
        onClose={() => setOpen(null)}
        title="It may already have been sent"
        actions={
          <>
            <Button onClick={() => setOpen(null)}>Keep it as it is</Button>
            <Button tone="danger" onClick={() => sendRetry(true)}>
              Send it, even twice
            </Button>
          </>
        }
      >
        <p>Nobody knows whether the provider sent this message. A retry may send it a second time.</p>
      </Dialog>
    </div>
  );
}

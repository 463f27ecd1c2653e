/** One message on a phone: its text, files, payment request, reactions and receipt, and what the contact can do with it. */

import { Popover } from "@base-ui/react/popover";
import { useState } from "react";
import { Link } from "wouter";
import type { Attachment, Message, PaymentRequest, Reaction } from "../../../sdk/wire.ts";
import { usePhoneActs } from "../../api/phones.ts";
import { pathOf } from "../../parts/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { ContactName } from "../../parts/contact-name.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Countdown, Time } from "../../parts/time.tsx";
import type { NoteAct } from "./recording.ts";
import { type Bubble, REACTION_EMOJIS, type Receipt } from "./thread.ts";

interface BubbleProps {
  number: string;
  bubble: Bubble;
  onAct: NoteAct;
  onReply: (id: string) => void;
}

const RECEIPT_TONES: Record<Receipt["tone"], string> = { soft: "text-faint", good: "text-faint", bad: "text-bad" };

/** A message with all that belongs to it. */
export function BubbleRow({ number, bubble, onAct, onReply }: BubbleProps) {
  const { message, isOwn, sender, receipt, isAfterPause } = bubble;
  return (
    <li className={`flex flex-col ${isOwn ? "items-end" : "items-start"}`}>
      {isAfterPause && (
        <p className="w-full py-1 text-center text-xs text-faint">
          <Time at={message.createdAt} />
        </p>
      )}
      {sender !== null && (
        <p className="px-2 pt-1 text-xs text-faint">
          <ContactName address={sender} />
        </p>
      )}
      {message.parentMessageId !== null && <p className="px-2 text-xs text-faint">a reply</p>}
      <div className={`group flex max-w-[86%] items-center gap-1 ${isOwn ? "flex-row-reverse" : ""}`}>
        <Body number={number} bubble={bubble} onAct={onAct} />
        {!bubble.isUnsent && <Verbs number={number} message={message} onAct={onAct} onReply={onReply} />}
      </div>
      {receipt !== null && (
        <p className={`px-2 text-xs ${RECEIPT_TONES[receipt.tone]}`}>
          {receipt.text}
          {message.channel !== "imessage" && receipt.tone !== "bad" && ` · ${message.channel.toUpperCase()}`}
          {receipt.tone === "bad" && (
            <>
              {" · "}
              <Link href={pathOf(message.id)} className="underline">
                why?
              </Link>
            </>
          )}
        </p>
      )}
      {isOwn && message.channel !== "imessage" && (
        <p className="px-2 text-xs text-faint">{message.channel.toUpperCase()}</p>
      )}
    </li>
  );
}

/** Statuses of a message that has not arrived: it is paler. */
const ON_ITS_WAY: ReadonlySet<Message["status"]> = new Set(["scheduled", "queued", "pending", "sent"]);

function colourOf({ message, isOwn, isUnsent }: Bubble): string {
  if (isUnsent) return "border border-dashed border-strong-line text-faint";
  if (message.status === "failed" || message.status === "cancelled")
    return "border border-dashed border-strong-line text-soft";
  if (!isOwn) return `bg-bubble ${ON_ITS_WAY.has(message.status) ? "text-soft" : ""}`;
  return message.channel === "imessage" ? "bg-accent-solid text-white" : "bg-sms text-white";
}

function Body({ number, bubble, onAct }: Omit<BubbleProps, "onReply">) {
  const { message, isOwn, isEdited, isUnsent, payment, paid, reactions } = bubble;
  const { text } = message.content;
  return (
    <div className="relative min-w-0">
      <div
        className={`w-fit max-w-full rounded-2xl px-3 py-1.5 text-base ${isOwn ? "ml-auto" : ""} ${colourOf(bubble)}`}
      >
        {isUnsent ? (
          <em>unsent a message</em>
        ) : (
          <>
            {message.attachments.map((file) => (
              <FileView key={file.guid} file={file} />
            ))}
            {message.content.mediaUrls.length > 0 && (
              <p className="flex items-center gap-1.5">
                <Icon name="external" size={14} />
                {message.content.mediaUrls.length} {message.content.mediaUrls.length === 1 ? "image" : "images"}
              </p>
            )}
            {payment !== null ? (
              <PaymentCard number={number} payment={payment} onAct={onAct} />
            ) : (
              <Words
                text={text}
                paid={paid}
                isFile={message.attachments.length + message.content.mediaUrls.length > 0}
              />
            )}
          </>
        )}
      </div>
      {reactions.length > 0 && (
        <span
          className={`absolute -top-2.5 rounded-full border bg-raised px-1 text-xs ${isOwn ? "-left-2" : "-right-2"}`}
          role="img"
          aria-label={`Reactions: ${reactions.join(" ")}`}
        >
          {reactions.join("")}
        </span>
      )}
      {isEdited && !isUnsent && <p className="px-2 text-xs text-faint">Edited</p>}
    </div>
  );
}

function Words({ text, paid, isFile }: { text: string | null; paid: PaymentRequest | null; isFile: boolean }) {
  if (text !== null && text !== "") return <span className="whitespace-pre-wrap">{text}</span>;
  if (paid !== null) return <span>Paid ${paid.amount}</span>;
  return isFile ? null : <em>no text</em>;
}

/** A file: an image is shown, another one is a link. The service hands out its own files only. */
function FileView({ file }: { file: Attachment }) {
  const { downloadUrl, filename, mimeType } = file;
  const name = filename ?? mimeType ?? "a file";
  if (downloadUrl === null) return <p className="italic">{name}</p>;
  // The service may name itself by another host than the one in the address bar.
  const { pathname, search } = new URL(downloadUrl);
  if (mimeType?.startsWith("image/") === true)
    return <img src={pathname + search} alt={name} className="my-1 max-h-48 rounded-lg" loading="lazy" />;
  return (
    <a href={pathname + search} download className="flex items-center gap-1.5 underline">
      <Icon name="arrowDown" size={14} />
      {name}
    </a>
  );
}

function PaymentCard({ number, payment, onAct }: { number: string; payment: PaymentRequest; onAct: NoteAct }) {
  const { pay } = usePhoneActs(number);
  const [isIgnored, setIgnored] = useState(false);
  const isOpen = payment.status === "pending";
  const payNow = () => {
    const body = { requestId: payment.id };
    onAct(pay.mutateAsync(body).then(({ id }) => ({ does: "pay", number, payment: body, id })));
  };
  return (
    <div className="my-1 w-52 max-w-full rounded-xl border bg-raised p-3 text-text">
      <p className="text-xl font-semibold tabular-nums">${payment.amount}</p>
      {payment.note !== null && <p className="text-soft">{payment.note}</p>}
      {isOpen && !isIgnored ? (
        <div className="mt-2 flex gap-2">
          <Button tone="primary" disabled={pay.isPending} onClick={payNow}>
            Pay
          </Button>
          <Button onClick={() => setIgnored(true)}>Ignore</Button>
        </div>
      ) : (
        <p className="mt-1 text-xs text-faint">
          {isOpen ? (
            <>
              Ignored: it expires in <Countdown until={payment.expiresAt} />
            </>
          ) : (
            payment.status
          )}
        </p>
      )}
    </div>
  );
}

/** React and reply; they appear when the message is pointed at or has the focus. */
function Verbs({ number, message, onAct, onReply }: Omit<BubbleProps, "bubble"> & { message: Message }) {
  const [isOpen, setOpen] = useState(false);
  const { react } = usePhoneActs(number);
  if (message.channel !== "imessage" || ON_ITS_WAY.has(message.status) || message.status === "failed") return null;
  const choose = (type: Reaction) => {
    setOpen(false);
    const reaction = { messageId: message.id, type };
    onAct(react.mutateAsync(reaction).then(() => ({ does: "react", number, reaction })));
  };
  const verb = "rounded px-1.5 py-0.5 text-left hover:bg-hover";
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger
        aria-label={`React or reply to ${message.content.text?.slice(0, 40) ?? "this message"}`}
        className="flex size-6 shrink-0 items-center justify-center rounded-full text-faint opacity-0 group-hover:opacity-100 hover:bg-hover focus-visible:opacity-100 data-[popup-open]:opacity-100 pointer-coarse:opacity-100"
      >
        <Icon name="plus" size={14} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner side="top" sideOffset={4} className="z-50">
          <Popover.Popup
            aria-label="What the contact does"
            className="flex items-center gap-0.5 rounded-full border bg-raised px-2 py-1 shadow-lg outline-none"
          >
            {Object.entries(REACTION_EMOJIS).map(([type, emoji]) => (
              <button
                key={type}
                type="button"
                aria-label={type}
                className={verb}
                onClick={() => choose(type as Reaction)}
              >
                {emoji}
              </button>
            ))}
            <span className="mx-1 h-4 border-l" />
            <button
              type="button"
              className={`${verb} text-soft`}
              onClick={() => {
                setOpen(false);
                onReply(message.id);
              }}
            >
              Reply
            </button>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

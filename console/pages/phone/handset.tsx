/** One phone: its header, its thread, its composer, and a call that rings. */

import { type SyntheticEvent, useEffect, useMemo, useRef, useState } from "react";
import type { Chat, Event } from "../../../sdk/wire.ts";
import { useLiveEvents } from "../../api/context.ts";
import {
  useCallWith,
  useGroups,
  useMarks,
  usePayments,
  usePhoneActs,
  usePhoneSettings,
  useThread,
} from "../../api/phones.ts";
import { IconButton } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/empty.tsx";
import { formatClock } from "../../parts/formats.ts";
import { useNow } from "../../parts/time.tsx";
import { BubbleRow } from "./bubble.tsx";
import { CallCard } from "./call-card.tsx";
import { Composer } from "./composer.tsx";
import type { NoteAct } from "./recording.ts";
import { bubblesOf } from "./thread.ts";
import { usePerson } from "./use-person.ts";

interface HandsetProps {
  number: string;
  /** Other phones on the screen, for a group with them. */
  others: readonly string[];
  onAct: NoteAct;
  onSettings: () => void;
}

/** The phone of a contact. */
export function Handset({ number, others, onAct, onSettings }: HandsetProps) {
  const person = usePerson(number);
  const groups = (useGroups().data ?? []).filter(({ participants }) => participants.includes(number));
  const [groupId, setGroupId] = useState<string | null>(null);
  const group = groups.find(({ id }) => id === groupId) ?? null;
  const [replyTo, setReplyTo] = useState<string | null>(null);
  return (
    <section
      aria-label={`Phone of ${person.name}, ${number}`}
      className="flex h-full max-h-[760px] min-h-72 w-full max-w-[360px] min-w-[280px] flex-col overflow-hidden rounded-[28px] border-4 border-strong-line bg-back shadow-lg"
    >
      <StatusBar number={number} />
      <header className="flex items-center gap-2 border-b px-3 pb-2">
        <span
          aria-hidden="true"
          className="flex size-8 shrink-0 items-center justify-center rounded-full bg-accent-soft text-xs font-semibold text-accent"
        >
          {person.name.startsWith("+") ? number.slice(-2) : person.name.slice(0, 2)}
        </span>
        <div className="min-w-0 flex-1">
          <h2 className="truncate font-semibold">{person.name}</h2>
          <p className="truncate text-xs text-faint tabular-nums" title={person.behaviour}>
            {person.name === number ? person.behaviour : `${number} · ${person.behaviour}`}
          </p>
        </div>
        <RingButton number={number} onAct={onAct} />
        <IconButton label={`Settings of the phone of ${person.name}`} icon="settings" onClick={onSettings} />
      </header>
      {groups.length > 0 && <Chats groups={groups} open={group} onOpen={setGroupId} />}
      <Thread number={number} group={group} onAct={onAct} onReply={setReplyTo} />
      <CallCard number={number} onAct={onAct} />
      <Composer
        number={number}
        group={group}
        others={others}
        replyTo={replyTo}
        onReplied={() => setReplyTo(null)}
        onAct={onAct}
        onGroup={setGroupId}
      />
    </section>
  );
}

function StatusBar({ number }: { number: string }) {
  const now = useNow();
  const settings = usePhoneSettings(number).data;
  return (
    <div className="flex items-center justify-between px-5 pt-2 pb-1 text-xs font-semibold tabular-nums">
      <span>{formatClock(now).slice(0, 5)}</span>
      <span className="font-medium text-faint">
        {settings === undefined ? "" : !settings.online ? "offline" : settings.imessage ? "iMessage" : "SMS only"}
      </span>
    </div>
  );
}

function RingButton({ number, onAct }: { number: string; onAct: NoteAct }) {
  const { call } = usePhoneActs(number);
  const current = useCallWith(number).data ?? null;
  const ring = () => {
    const body = { action: "ring", video: true } as const;
    onAct(call.mutateAsync(body).then(() => ({ does: "call", number, call: body })));
  };
  return (
    <IconButton label="Ring by FaceTime" icon="video" disabled={current !== null || call.isPending} onClick={ring} />
  );
}

function Chats({
  groups,
  open,
  onOpen,
}: {
  groups: readonly Chat[];
  open: Chat | null;
  onOpen: (id: string | null) => void;
}) {
  const entries = [
    { id: null, title: "Your service" },
    ...groups.map(({ id, name, participants }) => ({ id, title: name ?? `${participants.length} people` })),
  ];
  return (
    <div className="flex shrink-0 gap-1 overflow-x-auto border-b px-2 py-1 scroll-thin">
      {entries.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          aria-pressed={id === (open?.id ?? null)}
          onClick={() => onOpen(id)}
          className={`h-6 rounded-full px-2.5 text-xs font-medium whitespace-nowrap ${id === (open?.id ?? null) ? "bg-accent-soft text-accent" : "text-soft hover:bg-hover"}`}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

/** Scrolls a thread, and nothing around it, to its end. */
function scrollToEnd(list: HTMLElement | null): void {
  list?.scrollTo({ top: list.scrollHeight });
}

/** The thread counts as scrolled to its end at this distance. */
const NEAR_END_PX = 40;

interface ThreadProps {
  number: string;
  group: Chat | null;
  onAct: NoteAct;
  onReply: (id: string) => void;
}

function Thread({ number, group, onAct, onReply }: ThreadProps) {
  const found = useThread(number, group);
  const marks = useMarks();
  const payments = usePayments();
  const isTyping = useTyping(number);
  const bubbles = useMemo(
    () =>
      bubblesOf({
        number,
        messages: found.data ?? [],
        events: marks.data ?? [],
        payments: payments.data ?? [],
        isGroup: group !== null,
      }),
    [number, group, found.data, marks.data, payments.data],
  );
  const list = useRef<HTMLOListElement>(null);
  const last = bubbles.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the thread scrolls to its end when something is added to it.
  useEffect(() => {
    scrollToEnd(list.current);
  }, [bubbles.length, last?.receipt?.text, isTyping]);
  // A picture takes its place once it is there; the thread stays at its end if it was.
  const onPicture = ({ currentTarget, target }: SyntheticEvent<HTMLElement>) => {
    const { scrollHeight, scrollTop, clientHeight } = currentTarget;
    const added = target instanceof HTMLElement ? target.offsetHeight : 0;
    if (scrollHeight - scrollTop - clientHeight <= added + NEAR_END_PX) scrollToEnd(currentTarget);
  };
  if (found.isPending) {
    return (
      <div className="flex-1">
        <Loading />
      </div>
    );
  }
  if (found.data === undefined) return <Failed error={found.error} onRetry={() => void found.refetch()} />;
  return (
    <ol
      ref={list}
      aria-label="Messages on the phone"
      tabIndex={0}
      onLoadCapture={onPicture}
      className="flex min-h-0 flex-1 flex-col gap-1 overflow-y-auto px-3 py-3 outline-offset-[-2px] scroll-thin"
    >
      {bubbles.length === 0 && (
        <li className="m-auto max-w-56 text-center text-soft">
          Nobody has written yet. Write below as the contact, or send to {number} from your program.
        </li>
      )}
      {bubbles.map((bubble) => (
        <BubbleRow key={bubble.message.id} number={number} bubble={bubble} onAct={onAct} onReply={onReply} />
      ))}
      {isTyping && <TypingDots />}
    </ol>
  );
}

/** Whether the contact types, as the service was told last. */
function useTyping(number: string): boolean {
  const [isTyping, setTyping] = useState(false);
  useLiveEvents((events) => {
    const own = events.filter(
      (event): event is Event<"typing.indicator"> =>
        event.type === "typing.indicator" && (event as Event<"typing.indicator">).data.from === number,
    );
    const last = own.at(-1);
    if (last !== undefined) setTyping(last.data.typing);
    else if (events.some(({ type, data }) => type === "message.inbound" && "from" in data && data.from === number))
      setTyping(false);
  });
  return isTyping;
}

function TypingDots() {
  return (
    <li className="flex w-fit gap-1 self-end rounded-full bg-accent-soft px-3 py-2.5" aria-label="The contact types">
      {[0, 1, 2].map((dot) => (
        <span
          key={dot}
          className="pulse-dot size-1.5 rounded-full bg-accent"
          style={{ animationDelay: `${dot * 200}ms` }}
        />
      ))}
    </li>
  );
}

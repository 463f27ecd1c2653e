/** Where one writes: as the contact on this phone, or as your own program to it. */

import { type ChangeEvent, useEffect, useRef, useState } from "react";
import type { Chat, PhoneMessage } from "../../../sdk/wire.ts";
import { useSendMessage } from "../../api/messages.ts";
import { useCreateGroup, usePhoneActs } from "../../api/phones.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { FIELD_LOOK, Field, Form, IN_ROW } from "../../parts/form.tsx";
import { toastError } from "../../parts/toasts.tsx";
import type { NoteAct } from "./recording.ts";

interface ComposerProps {
  number: string;
  group: Chat | null;
  others: readonly string[];
  replyTo: string | null;
  onReplied: () => void;
  onAct: NoteAct;
  onGroup: (id: string) => void;
}

type Side = "contact" | "program";

/** Typing ends after this pause, or when the message is sent. */
const TYPING_MS = 3_000;
/** The service takes requests of 10 MiB; base64 makes a file a third larger. */
const FILE_BYTES_MAX = 7 * 1_024 * 1_024;

/** The composer. */
export function Composer({ number, group, others, replyTo, onReplied, onAct, onGroup }: ComposerProps) {
  const [side, setSide] = useState<Side>("contact");
  const [text, setText] = useState("");
  const { write } = usePhoneActs(number);
  const send = useSendMessage();
  const typing = useTypingSignal(number, side === "contact" && group === null);
  const writeAs = (message: PhoneMessage, onError?: (error: unknown) => void) =>
    onAct(
      write.mutateAsync(message).then(({ id }) => ({ does: "write", number, message, id })),
      onError,
    );
  const submit = (refuse: (error: unknown) => void) => {
    if (text.trim() === "") return;
    typing.end();
    // A refused text comes back, unless something else is written meanwhile.
    const onError = (error: unknown) => {
      refuse(error);
      setText((present) => (present === "" ? text : present));
    };
    if (side === "program") send.mutate({ to: group?.id ?? number, content: { text } }, { onError });
    else {
      const reply = { ...(replyTo === null ? {} : { replyTo }), ...(group === null ? {} : { chatId: group.id }) };
      writeAs({ text, ...reply }, onError);
    }
    setText("");
    onReplied();
  };
  return (
    <Form onSubmit={submit} className="shrink-0 border-t px-3 pt-2 pb-3">
      <div className="mb-1.5 flex flex-wrap items-center gap-1">
        <SideButton title="As the contact" isOn={side === "contact"} onClick={() => setSide("contact")} />
        <SideButton title="As your program" isOn={side === "program"} onClick={() => setSide("program")} />
        <span className="flex-1" />
        {group === null && others.length > 0 && <GroupButton members={[number, ...others]} onGroup={onGroup} />}
      </div>
      {replyTo !== null && (
        <p className="mb-1 flex items-center justify-between text-xs text-soft">
          Replies to a message
          <IconButton label="No reply" icon="close" className="size-5" onClick={onReplied} />
        </p>
      )}
      <div className="flex flex-wrap items-center gap-1.5">
        {side === "contact" && group === null && <FileButton onFile={writeAs} />}
        <Field
          name={side === "contact" ? "text" : "content.text"}
          label={side === "contact" ? "Write as the contact" : "Send as your program"}
          isLabelHidden
          className={IN_ROW}
        >
          {(field) => (
            <input
              {...field}
              placeholder={side === "contact" ? "Text message" : "Sent by POST /v1/messages"}
              className={`h-8 min-w-0 flex-1 rounded-full px-3 ${FIELD_LOOK}`}
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                typing.noteKey();
              }}
            />
          )}
        </Field>
        <button
          type="submit"
          aria-label="Send"
          disabled={text.trim() === ""}
          className={`flex size-8 shrink-0 items-center justify-center rounded-full font-bold text-white disabled:opacity-40 ${side === "contact" ? "bg-accent-solid" : "bg-good-solid"}`}
        >
          ↑
        </button>
      </div>
    </Form>
  );
}

function SideButton({ title, isOn, onClick }: { title: string; isOn: boolean; onClick: () => void }) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onClick}
      className={`h-6 rounded-full px-2 text-xs font-medium whitespace-nowrap ${isOn ? "bg-accent-soft text-accent" : "text-soft hover:bg-hover"}`}
    >
      {title}
    </button>
  );
}

/** Makes a group of the phones on the screen. */
function GroupButton({ members, onGroup }: { members: readonly string[]; onGroup: (id: string) => void }) {
  const create = useCreateGroup();
  return (
    <Button
      tone="quiet"
      icon="plus"
      className="h-6 text-xs"
      disabled={create.isPending}
      onClick={() => create.mutate(members, { onSuccess: ({ id }) => onGroup(id), onError: toastError })}
    >
      Group
    </Button>
  );
}

function FileButton({ onFile }: { onFile: (message: PhoneMessage) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const pick = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    event.target.value = "";
    if (file === undefined) return;
    if (file.size > FILE_BYTES_MAX) {
      toastError(new Error("The file is larger than 7 MiB."));
      return;
    }
    const data = await base64Of(file);
    const mimeType = file.type === "" ? "application/octet-stream" : file.type;
    onFile({ attachments: [{ type: "base64", data, mimeType, filename: file.name }] });
  };
  return (
    <>
      <IconButton label="Send a file" icon="plus" onClick={() => input.current?.click()} />
      <input ref={input} type="file" className="hidden" onChange={(event) => void pick(event)} />
    </>
  );
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("the file could not be read"));
    reader.readAsDataURL(file);
  });
}

/** Tells the service that the contact types, once, and that the contact has stopped. A phone without iMessage says nothing. */
function useTypingSignal(number: string, isOn: boolean) {
  const { type } = usePhoneActs(number);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const tell = useRef(type.mutate);
  tell.current = type.mutate;
  const end = () => {
    if (timer.current === undefined) return;
    clearTimeout(timer.current);
    timer.current = undefined;
    tell.current(false);
  };
  const latestEnd = useRef(end);
  latestEnd.current = end;
  // Somebody who goes to another screen types no more.
  useEffect(() => () => latestEnd.current(), []);
  const noteKey = () => {
    if (!isOn) return;
    if (timer.current === undefined) tell.current(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(end, TYPING_MS);
  };
  return { noteKey, end };
}

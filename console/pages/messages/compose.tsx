/** Sends a message: a drawer with a recipient and a text, and the request as code. */

import { useState } from "react";
import { useConnected } from "../../api/context.ts";
import { useSendMessage } from "../../api/messages.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { FIELD, Field, Form } from "../../parts/form.tsx";
import { quote, snippetsOf } from "../../parts/snippets.ts";

/** A number of the sandbox that receives iMessages, and answers. */
const SANDBOX_NUMBER = "+15005550100";

interface ComposeProps {
  open: boolean;
  onClose: () => void;
  onSent: (id: string) => void;
  /** The first content of the form, for a message that is sent again. */
  initial?: { to: string; text: string };
}

/** The drawer. */
export function Compose(props: ComposeProps) {
  return (
    <Drawer open={props.open} onClose={props.onClose} title="Send a message">
      <ComposeForm {...props} />
    </Drawer>
  );
}

function ComposeForm({ onClose, onSent, initial }: ComposeProps) {
  const { session } = useConnected();
  const send = useSendMessage();
  const [to, setTo] = useState(initial?.to ?? (session.isSandbox ? SANDBOX_NUMBER : ""));
  const [text, setText] = useState(initial?.text ?? "Hello");
  const message = { to: to.trim(), content: { text } };
  const submit = (refuse: (error: unknown) => void) =>
    send.mutate(message, {
      onSuccess: ({ id }) => {
        onClose();
        onSent(id);
      },
      onError: refuse,
    });
  const call = {
    method: "POST",
    path: "/v1/messages",
    body: message,
    typescript: `tightbeam.messages.send(${JSON.stringify(message)})`,
    cli: `send ${quote(message.to)} ${quote(text)}`,
  };
  return (
    <Form onSubmit={submit} className="flex flex-col gap-3">
      <Field name="to" label="To">
        {(field) => (
          <input
            {...field}
            className={`${FIELD} tabular-nums`}
            value={to}
            onChange={(event) => setTo(event.target.value)}
            placeholder="+1…"
          />
        )}
      </Field>
      <Field name="content.text" label="Text">
        {(field) => (
          <textarea
            {...field}
            className={`${FIELD} min-h-20`}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" icon="send" disabled={send.isPending}>
          {send.isPending ? "Sending…" : "Send"}
        </Button>
      </div>
      <CodeBlock label="The same request as code" snippets={snippetsOf(call, location.origin)} />
    </Form>
  );
}

/** Creates or changes an endpoint: a drawer with its URL, name and types of events. */

import { useState } from "react";
import { EVENT_TYPES, type EventType, type Inbox, type Webhook } from "../../../sdk/wire.ts";
import { useInbox } from "../../api/sandbox.ts";
import { useCreateEndpoint, useUpdateEndpoint } from "../../api/webhooks.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { FIELD, Field, type FieldAttributes, FieldGroup, Form, useForgetProblem } from "../../parts/form.tsx";
import { snippetsOf } from "../../parts/snippets.ts";
import { toast } from "../../parts/toasts.tsx";

interface EndpointFormProps {
  open: boolean;
  onClose: () => void;
  /** Null for a new one. */
  endpoint: Webhook | null;
  onSaved: (endpoint: Webhook) => void;
}

/** The drawer. */
export function EndpointForm(props: EndpointFormProps) {
  return (
    <Drawer
      open={props.open}
      onClose={props.onClose}
      title={props.endpoint === null ? "Add an endpoint" : "Change the endpoint"}
    >
      <EndpointFields {...props} />
    </Drawer>
  );
}

function EndpointFields({ endpoint, onClose, onSaved }: EndpointFormProps) {
  const create = useCreateEndpoint();
  const update = useUpdateEndpoint(endpoint?.id ?? "");
  const [url, setUrl] = useState(endpoint?.url ?? "");
  const [name, setName] = useState(endpoint?.name ?? "");
  const [events, setEvents] = useState<Webhook["events"]>(endpoint?.events ?? ["*"]);
  const [maxInFlight, setMaxInFlight] = useState(endpoint === null ? "" : String(endpoint.maxInFlight));
  const fields = { url: url.trim(), events, ...(maxInFlight === "" ? {} : { maxInFlight: Number(maxInFlight) }) };
  const [secret, setSecret] = useState("");
  const named = name.trim();
  const created = {
    ...fields,
    ...(named === "" ? {} : { name: named }),
    ...(secret === "" ? {} : { secret }),
  };
  const changes = { ...fields, name: named === "" ? null : named };
  const onSuccess = (saved: Webhook) => {
    onClose();
    toast(endpoint === null ? "The endpoint is added." : "The endpoint is changed.");
    onSaved(saved);
  };
  const submit = (refuse: (error: unknown) => void) => {
    if (endpoint === null) create.mutate(created, { onSuccess, onError: refuse });
    else update.mutate(changes, { onSuccess, onError: refuse });
  };
  const call =
    endpoint === null
      ? {
          method: "POST",
          path: "/v1/webhooks",
          body: created,
          typescript: `tightbeam.webhooks.endpoints.create(${JSON.stringify(created)})`,
        }
      : {
          method: "PATCH",
          path: `/v1/webhooks/${endpoint.id}`,
          body: changes,
          typescript: `tightbeam.webhooks.endpoints.update("${endpoint.id}", ${JSON.stringify(changes)})`,
        };
  return (
    <Form onSubmit={submit} className="flex flex-col gap-3">
      <Field name="url" label="URL">
        {(field) => (
          <input
            {...field}
            className={`${FIELD} font-mono text-xs`}
            type="url"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
            placeholder="https://example.com/hooks/tightbeam"
          />
        )}
      </Field>
      <div className="grid grid-cols-[minmax(0,1fr)_8rem] gap-3">
        <Field name="name" label="Name">
          {(field) => (
            <input
              {...field}
              className={FIELD}
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder="optional"
            />
          )}
        </Field>
        <Field name="maxInFlight" label="At once, at most">
          {(field) => (
            <input
              {...field}
              className={`${FIELD} tabular-nums`}
              inputMode="numeric"
              value={maxInFlight}
              onChange={(event) => setMaxInFlight(event.target.value.replace(/\D/g, ""))}
              placeholder="64"
            />
          )}
        </Field>
      </div>
      {endpoint === null && (
        <Field name="secret" label="Secret">
          {(field) => (
            <input
              {...field}
              className={`${FIELD} font-mono text-xs`}
              value={secret}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setSecret(event.target.value)}
              placeholder="empty: the service generates one, and shows it once"
            />
          )}
        </Field>
      )}
      {endpoint === null && (
        <InboxButton
          onTake={(inbox) => {
            setUrl(inbox.url);
            setSecret(inbox.secret ?? "");
            if (name === "") setName("Inbox");
          }}
        />
      )}
      <FieldGroup name="events" label="Events">
        {(first) => <EventChoice first={first} events={events} onChange={setEvents} />}
      </FieldGroup>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" disabled={create.isPending || update.isPending}>
          {endpoint === null ? "Add it" : "Save"}
        </Button>
      </div>
      <CodeBlock label="The same request as code" snippets={snippetsOf(call, location.origin)} />
    </Form>
  );
}

/** Fills in the receiver that a sandbox has, for who has none yet. */
function InboxButton({ onTake }: { onTake: (inbox: Inbox) => void }) {
  const { data: inbox } = useInbox();
  const forget = useForgetProblem();
  if (inbox === undefined) return null;
  const take = () => {
    forget("url");
    forget("secret");
    onTake(inbox);
  };
  return (
    <Button className="self-start" icon="arrowDownLeft" onClick={take}>
      Deliver to the sandbox's own inbox
    </Button>
  );
}

interface EventChoiceProps {
  first: FieldAttributes;
  events: Webhook["events"];
  onChange: (events: Webhook["events"]) => void;
}

/** Every type, or some. */
function EventChoice({ first, events, onChange }: EventChoiceProps) {
  const isAll = events.includes("*");
  const toggle = (type: EventType) =>
    onChange(events.includes(type) ? events.filter((one) => one !== type) : [...events, type]);
  return (
    <>
      <label className="mt-1 flex items-center gap-2">
        <input
          {...first}
          type="checkbox"
          checked={isAll}
          onChange={() => onChange(isAll ? ["message.delivered", "message.failed", "message.inbound"] : ["*"])}
        />
        Every type, also types that are added later
      </label>
      {!isAll && (
        <div className="mt-2 grid max-h-56 grid-cols-1 gap-x-3 overflow-y-auto rounded-md border p-2 scroll-thin sm:grid-cols-2">
          {EVENT_TYPES.map((type) => (
            <label key={type} className="flex min-w-0 items-center gap-2 py-0.5">
              <input name={first.name} type="checkbox" checked={events.includes(type)} onChange={() => toggle(type)} />
              <span className="truncate font-mono text-xs" title={type}>
                {type}
              </span>
            </label>
          ))}
        </div>
      )}
    </>
  );
}

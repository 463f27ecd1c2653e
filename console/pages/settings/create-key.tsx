/** A new key: a drawer with its name, its scope, its customer and its permissions. */

import { useState } from "react";
import { type CreateKey, KEY_PERMISSIONS, type Key, type KeyPermission } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { useCreateKey } from "../../api/keys.ts";
import { useCustomers } from "../../api/service.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { FIELD, Field, FieldGroup, Form } from "../../parts/form.tsx";
import { snippetsOf } from "../../parts/snippets.ts";

interface CreateKeyProps {
  open: boolean;
  onClose: () => void;
  onCreated: (key: Key) => void;
}

/** The drawer. */
export function CreateKeyDrawer(props: CreateKeyProps) {
  return (
    <Drawer open={props.open} onClose={props.onClose} title="Create a key">
      <CreateKeyForm {...props} />
    </Drawer>
  );
}

const PERMISSION_TEXTS: Record<KeyPermission, string> = {
  read: "read everything of the customer",
  send: "send, and change messages and records",
  webhooks: "configure webhooks",
};

function CreateKeyForm({ onClose, onCreated }: CreateKeyProps) {
  const { customerId } = useConnected();
  const create = useCreateKey();
  const customers = useCustomers().data?.customers ?? [];
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [allowed, setAllowed] = useState<readonly KeyPermission[]>(KEY_PERMISSIONS);
  // Customers are listed newest first, and the console shows the first one until another is chosen.
  const owner = chosen ?? customerId ?? customers.at(-1)?.id ?? "admin";
  const key: CreateKey =
    owner === "admin"
      ? { name: name.trim(), scope: "admin" }
      : { name: name.trim(), customerId: owner, permissions: [...allowed] };
  const submit = (refuse: (error: unknown) => void) => create.mutate(key, { onSuccess: onCreated, onError: refuse });
  const toggle = (permission: KeyPermission) =>
    setAllowed(KEY_PERMISSIONS.filter((one) => (one === permission) !== allowed.includes(one)));
  const call = {
    method: "POST",
    path: "/v1/admin/keys",
    body: key,
    typescript: `tightbeam.admin.keys.create(${JSON.stringify(key)})`,
  };
  return (
    <Form onSubmit={submit} className="flex flex-col gap-3">
      <Field name="name" label="Name">
        {(field) => (
          <input
            {...field}
            className={FIELD}
            value={name}
            placeholder="Booking system"
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field name="customerId" label="For">
        {(field) => (
          <select {...field} className={FIELD} value={owner} onChange={(event) => setChosen(event.target.value)}>
            {customers.map((customer) => (
              <option key={customer.id} value={customer.id}>
                {customer.name}
              </option>
            ))}
            <option value="admin">Administration of all customers</option>
          </select>
        )}
      </Field>
      {owner !== "admin" && (
        <FieldGroup name="permissions" label="It may">
          {({ name: group, ...first }) =>
            KEY_PERMISSIONS.map((permission, index) => (
              <label key={permission} className="flex items-center gap-2 py-0.5">
                <input
                  {...(index === 0 ? first : {})}
                  name={group}
                  type="checkbox"
                  className="size-4 accent-[var(--accent-solid)]"
                  checked={allowed.includes(permission)}
                  onChange={() => toggle(permission)}
                />
                {PERMISSION_TEXTS[permission]}
              </label>
            ))
          }
        </FieldGroup>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" disabled={create.isPending}>
          {create.isPending ? "Creating…" : "Create"}
        </Button>
      </div>
      <CodeBlock label="The same request as code" snippets={snippetsOf(call, location.origin)} />
    </Form>
  );
}

/** Customers: the list, and the numbers and problems of one. */

import type { Customer } from "../../../sdk/wire.ts";
import { useCustomer } from "../../api/service.ts";
import { Badge } from "../../parts/badge.tsx";
import { Failed, Loading } from "../../parts/empty.tsx";
import { Panel } from "../../parts/fields.tsx";
import { Time } from "../../parts/time.tsx";
import { Address, ageColumn, Text } from "./cells.tsx";
import { idField, type RecordList, RecordTable } from "./record-table.tsx";
import { Warnings } from "./warnings.tsx";

const CUSTOMERS: RecordList<Customer> = {
  noun: "customers",
  label: "Customers",
  read: async (api, cursor, options) => {
    const { customers, pagination } = await api.admin.customers.list({ limit: 100, cursor }, options);
    return { rows: customers, next: pagination.nextCursor };
  },
  rowId: ({ id }) => id,
  titleOf: ({ name }) => name,
  columns: [
    { id: "name", header: "Name", width: "minmax(0, 1fr)", cell: ({ name }) => <b className="font-medium">{name}</b> },
    {
      id: "email",
      header: "E-mail",
      width: "minmax(0, 1fr)",
      from: 520,
      cell: ({ email }) => <Text>{email}</Text>,
    },
    {
      id: "company",
      header: "Company",
      width: "minmax(0, 1fr)",
      from: 700,
      cell: ({ company }) => <Text>{company}</Text>,
    },
    ageColumn(),
  ],
  fieldsOf: ({ id, email, company, createdAt }) => [
    idField(id),
    ["E-mail", email],
    ["Company", company],
    ["Created", <Time key="created" at={createdAt} />],
  ],
  empty: {
    icon: "person",
    title: "No customers yet",
    text: "A customer has numbers, keys, webhooks and messages of its own.",
    verb: "Create a customer",
    call: {
      method: "POST",
      path: "/v1/admin/customers",
      body: { name: "Bistro Ada" },
      typescript: 'tightbeam.admin.customers.create({ name: "Bistro Ada" })',
      cli: 'customers create "Bistro Ada"',
    },
  },
};

/** The section. */
export function CustomerSection() {
  return <RecordTable list={CUSTOMERS} noticeOf={({ id }) => <CustomerNumbers key={id} id={id} />} />;
}

function CustomerNumbers({ id }: { id: string }) {
  const found = useCustomer(id);
  if (found.isPending) return <Loading rows={2} />;
  if (found.data === undefined) return <Failed error={found.error} onRetry={() => void found.refetch()} />;
  const { numbers, warnings } = found.data;
  return (
    <>
      <Warnings warnings={warnings} />
      <Panel title="Numbers">
        {numbers.length === 0 && (
          <p className="px-4 py-2 text-soft">
            None yet. Add one: <code className="font-mono text-xs">tightbeam customers add-number</code>
          </p>
        )}
        <ul>
          {numbers.map((number) => (
            <li key={number.id} className="flex flex-wrap items-center gap-2 border-b px-4 py-1.5 last:border-b-0">
              <Address>{number.phoneNumber ?? number.email}</Address>
              <span className="flex-1 text-faint">{number.provider}</span>
              {number.isDefault && <Badge>default</Badge>}
            </li>
          ))}
        </ul>
      </Panel>
    </>
  );
}

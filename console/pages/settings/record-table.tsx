/** One table for every plain list: a description of the noun gives its columns, its fields and the call that fills it. */

import type { ReactNode } from "react";
import { useLocation, useSearch } from "wouter";
import type { Tightbeam } from "../../../sdk/client.ts";
import { useConnected } from "../../api/context.ts";
import type { PageSource } from "../../api/pages.ts";
import type { Noun } from "../../api/queries.ts";
import { useRecordChange } from "../../api/records.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyId } from "../../parts/copy.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Fields, Panel } from "../../parts/fields.tsx";
import type { IconName } from "../../parts/icons.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { RecordRows } from "../../parts/record-rows.tsx";
import { type ApiCall, snippetsOf } from "../../parts/snippets.ts";
import { toastError } from "../../parts/toasts.tsx";

/** How a list without records says so, and the call that fills it. */
interface EmptyList {
  icon: IconName;
  title: string;
  text: string;
  /** Label of the button that makes the call. */
  verb?: string;
  call?: ApiCall;
  /** Whether the call is one of the sandbox: elsewhere it is not offered. */
  inSandbox?: true;
}

/** A noun as a list. */
export interface RecordList<Row> extends PageSource<Row> {
  label: string;
  /** Title of the drawer. */
  titleOf: (row: Row) => ReactNode;
  columns: readonly Column<Row>[];
  fieldsOf: (row: Row) => readonly (readonly [name: string, value: ReactNode])[];
  empty: EmptyList;
}

interface RecordTableProps<Row> {
  list: RecordList<Row>;
  /** The verbs of the list, above the table at the right. */
  verbs?: ReactNode;
  /** Buttons at the end of the drawer. */
  actionsOf?: (row: Row, close: () => void) => ReactNode;
  /** Shown above the fields of the drawer. */
  noticeOf?: (row: Row) => ReactNode;
}

/** The table, and the open record in a drawer: its id is in the address. */
export function RecordTable<Row>({ list, verbs, actionsOf, noticeOf }: RecordTableProps<Row>) {
  const { noun, label, rowId, titleOf, columns, empty } = list;
  const [path, navigate] = useLocation();
  const openId = new URLSearchParams(useSearch()).get("id");
  const close = () => navigate(path, { replace: true });
  const drawerOf = (row: Row) => (
    <Drawer open onClose={close} title={titleOf(row)} actions={actionsOf?.(row, close)}>
      <div className="flex flex-col gap-4">
        {noticeOf?.(row)}
        <Fields fields={list.fieldsOf(row)} />
        <Panel title="JSON">
          <JsonView value={row} label="the record" />
        </Panel>
      </div>
    </Drawer>
  );
  return (
    <>
      {verbs !== undefined && <div className="flex justify-end gap-2 px-4 pt-3 pb-2">{verbs}</div>}
      <RecordRows
        label={label}
        source={list}
        columns={columns}
        openId={openId}
        onOpen={(id) => navigate(`${path}?id=${encodeURIComponent(id)}`, { replace: openId !== null })}
        empty={<NoRecords noun={noun} empty={empty} />}
        showsNew
      >
        {(rows) => rows.filter((row) => rowId(row) === openId).map(drawerOf)}
      </RecordRows>
    </>
  );
}

function NoRecords({ noun, empty }: { noun: Noun; empty: EmptyList }) {
  const { session } = useConnected();
  const { icon, title, text, verb, call, inSandbox } = empty;
  const fill = useRecordChange(noun, (api: Tightbeam, { method, path, body }: ApiCall) =>
    api.request(method, path, body === undefined ? {} : { body }),
  );
  const offered = inSandbox === true && !session.isSandbox ? undefined : call;
  return (
    <div className="overflow-y-auto scroll-thin">
      <Empty
        icon={icon}
        title={title}
        action={
          offered !== undefined &&
          verb !== undefined && (
            <Button
              tone="primary"
              icon="plus"
              disabled={fill.isPending}
              onClick={() => fill.mutate(offered, { onError: toastError })}
            >
              {verb}
            </Button>
          )
        }
      >
        {text}
      </Empty>
      {offered !== undefined && (
        <div className="mx-auto -mt-8 max-w-xl px-4 pb-8">
          <CodeBlock label="The same as a request" snippets={snippetsOf(offered, location.origin)} />
        </div>
      )}
    </div>
  );
}

/** The id of a record as a field. */
export function idField(id: string): readonly [string, ReactNode] {
  return ["Id", <CopyId key="id" id={id} />];
}

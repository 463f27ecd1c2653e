/** One request: what was asked, what the service answered, and where it led. */

import type { LoggedBody, LoggedExchange } from "../../../sdk/wire.ts";
import { useRequest } from "../../api/requests.ts";
import { numberInApiPath } from "../../parts/addresses.ts";
import { Badge, toneOfHttp } from "../../parts/badge.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { ContactName } from "../../parts/contact-name.tsx";
import { CopyButton, CopyId } from "../../parts/copy.tsx";
import { Fields, Panel } from "../../parts/fields.tsx";
import { formatMs } from "../../parts/formats.ts";
import { JsonView } from "../../parts/json-view.tsx";
import { parseBody } from "../../parts/logged-body.ts";
import { Read } from "../../parts/read.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import { snippetsOf } from "../../parts/snippets.ts";
import { DetailHead } from "../../parts/split.tsx";
import { Time } from "../../parts/time.tsx";

/** The detail. */
export function RequestDetail({ id, onClose }: { id: string; onClose: () => void }) {
  return <Read found={useRequest(id)}>{(exchange) => <Exchange exchange={exchange} onClose={onClose} />}</Read>;
}

function Exchange({ exchange, onClose }: { exchange: LoggedExchange; onClose: () => void }) {
  const { id, method, path, status, durationMs, keyId, correlationId, errorCode, createdAt, request, response } =
    exchange;
  const body = parseBody(request);
  const number = numberInApiPath(path);
  const call = { method, path, ...(body === undefined ? {} : { body }) };
  return (
    <>
      <DetailHead
        line={
          <>
            <Badge tone={toneOfHttp(status)}>{status}</Badge>
            <h2 className="min-w-0 flex-1 truncate font-mono text-xs font-semibold">
              {method} {path}
            </h2>
            <CopyId id={id} />
          </>
        }
        onClose={onClose}
      />
      <div className="flex flex-col gap-4 p-4">
        <Fields
          fields={[
            ["Contact", number === null ? null : <ContactName key="contact" address={number} isWhole />],
            ["When", <Time key="at" at={createdAt} />],
            ["Took", formatMs(durationMs)],
            [
              "Error",
              errorCode === null ? null : (
                <code key="code" className="font-mono text-xs text-bad">
                  {errorCode}
                </code>
              ),
            ],
            [
              "Key",
              <code key="key" className="font-mono text-xs">
                {keyId}
              </code>,
            ],
            [
              "Correlation",
              <span key="correlation" className="flex items-center gap-1 font-mono text-xs">
                <span className="min-w-0 break-all">{correlationId}</span>{" "}
                <CopyButton text={correlationId} label="Copy the correlation id" />
              </span>,
            ],
            ["Led to", <Led key="led" response={response} path={path} />],
          ]}
        />
        <BodyPanel title="Request" body={request} empty="No body." />
        <BodyPanel title="Response" body={response} empty="Not logged: a stream, or the setting keeps no bodies." />
        <CodeBlock label="The request as code" snippets={snippetsOf(call, location.origin)} />
      </div>
    </>
  );
}

/** The records that a request names or made. */
function Led({ response, path }: { response: LoggedBody | null; path: string }) {
  const ids = new Set(`${path} ${response?.text ?? ""}`.match(/\b(?:msg|evt|dlv)_[0-9a-f-]{36}\b/g) ?? []);
  if (ids.size === 0) return "–";
  return (
    <span className="flex flex-wrap gap-x-3">
      {[...ids].slice(0, 5).map((id) => (
        <RecordLink key={id} id={id} />
      ))}
    </span>
  );
}

function BodyPanel({ title, body, empty }: { title: string; body: LoggedBody | null; empty: string }) {
  const value = parseBody(body);
  return (
    <Panel title={title} aside={body?.truncated === true ? <Badge>the first 4 KiB</Badge> : undefined}>
      {body === null ? (
        <p className="px-4 py-3 text-faint">{empty}</p>
      ) : value === undefined ? (
        <pre className="overflow-x-auto p-3 font-mono text-xs whitespace-pre-wrap">{body.text}</pre>
      ) : (
        <JsonView value={value} label={`the ${title.toLowerCase()}`} />
      )}
    </Panel>
  );
}

/** The request that made a message, as it can be sent again, and the requests about it in the log. */

import { Link } from "wouter";
import type { Message } from "../../../sdk/wire.ts";
import { useFirstPage } from "../../api/pages.ts";
import { requestSource } from "../../api/requests.ts";
import { pathOfRequest } from "../../parts/addresses.ts";
import { Badge, toneOfHttp } from "../../parts/badge.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Empty } from "../../parts/empty.tsx";
import { formatMs } from "../../parts/formats.ts";
import { quote, snippetsOf } from "../../parts/snippets.ts";
import { Time } from "../../parts/time.tsx";

/** The request as code. */
export function RequestTab({ message }: { message: Message }) {
  if (message.direction === "inbound") {
    return (
      <Empty icon="arrowDownLeft" title="A contact wrote this message">
        No request of yours led to it.
      </Empty>
    );
  }
  const body = { to: message.to, from: message.from, content: { text: message.content.text ?? undefined } };
  const call = {
    method: "POST",
    path: "/v1/messages",
    body,
    typescript: `tightbeam.messages.send(${JSON.stringify(body)})`,
    cli: `send ${quote(message.to)} ${quote(message.content.text ?? "")} --from ${quote(message.from)}`,
  };
  return (
    <div className="flex flex-col gap-4 p-4">
      <LoggedRequests messageId={message.id} />
      <CodeBlock label="The request as code" snippets={snippetsOf(call, location.origin)} />
    </div>
  );
}

function LoggedRequests({ messageId }: { messageId: string }) {
  const requests = useFirstPage(requestSource({ messageId })).data?.rows ?? [];
  if (requests.length === 0) return null;
  return (
    <ol aria-label="Requests about this message" className="overflow-hidden rounded-lg border">
      {requests.map(({ id, status, method, path, durationMs, createdAt }) => (
        <li key={id} className="border-b last:border-b-0">
          <Link href={pathOfRequest(id)} className="flex items-center gap-3 px-3 py-1.5 hover:bg-hover">
            <Badge tone={toneOfHttp(status)}>{status}</Badge>
            <span className="min-w-0 flex-1 truncate font-mono text-xs">
              {method} {path}
            </span>
            <span className="text-xs text-faint tabular-nums">{formatMs(durationMs)}</span>
            <Time at={createdAt} className="text-xs text-faint" />
          </Link>
        </li>
      ))}
    </ol>
  );
}

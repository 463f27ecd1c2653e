/** A signature taken apart: timestamp, the event's bytes, and the HMAC of both that becomes `X-Signature`. */

import { type ReactNode, useEffect, useState } from "react";
import { constructSignature } from "../../sdk/signature.ts";
import { Badge } from "../parts/badge.tsx";
import { Panel } from "../parts/fields.tsx";
import { byteLength } from "./sent.ts";

interface SignatureProps {
  body: string;
  /** Unix seconds, as they were sent; null if they are not known. */
  timestamp: string | null;
  /** `X-Signature`, as it was sent; null if it is not known. */
  sent: string | null;
  /** The secret that signed; null if it is not known. */
  secret: string | null;
}

/** The three parts. With a secret the signature is made again here; it does not leave the page. */
export function Signature({ body, timestamp, sent, secret }: SignatureProps) {
  const [typed, setTyped] = useState("");
  const made = useSignature(body, timestamp, secret ?? typed);
  const shown = timestamp ?? "<X-Timestamp>";
  return (
    <Panel title="The signature" aside={<Verdict sent={sent} made={made} />}>
      <ol className="flex flex-col gap-2.5 p-3 text-xs">
        <Part
          number={1}
          title="Timestamp"
          note="X-Timestamp: Unix seconds of the POST. A receiver refuses one that is over 300 s off."
        >
          <span className="text-accent">{shown}</span>
        </Part>
        <Part
          number={2}
          title="The event's bytes"
          note={`${byteLength(body)} bytes: the body as it came, before anything parses it.`}
        >
          <span className="text-good">{body.length > 72 ? `${body.slice(0, 72)}…` : body}</span>
        </Part>
        <Part
          number={3}
          title="HMAC-SHA256"
          note="Of 1, a dot and 2, in hexadecimal. The key is the characters of the secret."
        >
          HMAC(<span className="text-warn">{secret === null ? "secret" : `${secret.slice(0, 10)}…`}</span>,{" "}
          <span className="text-accent">{shown}</span>.<span className="text-good">{body.slice(0, 12)}…</span>)
        </Part>
      </ol>
      <p className="border-t px-3 py-2 font-mono text-xs break-all">
        X-Signature: {sent ?? made ?? <span className="text-faint">sha256=…</span>}
      </p>
      {secret === null && timestamp !== null && globalThis.crypto?.subtle !== undefined && (
        <label className="flex items-center gap-2 border-t px-3 py-2 text-xs text-soft">
          Make it with your secret
          <input
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder="whsec_…"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            className="h-7 min-w-0 flex-1 rounded-md border bg-back px-2 font-mono"
          />
        </label>
      )}
    </Panel>
  );
}

function Part({ number, title, note, children }: { number: number; title: string; note: string; children: ReactNode }) {
  return (
    <li className="flex gap-2.5">
      <span className="mt-0.5 flex size-4 shrink-0 items-center justify-center rounded-full bg-hover text-[11px] text-soft">
        {number}
      </span>
      <div className="min-w-0">
        <p>
          <span className="font-semibold">{title}</span> <span className="text-faint">{note}</span>
        </p>
        <p className="font-mono break-all">{children}</p>
      </div>
    </li>
  );
}

function Verdict({ sent, made }: { sent: string | null; made: string | null }) {
  if (sent === null || made === null) return null;
  return sent === made ? (
    <Badge tone="good">made again here: the same</Badge>
  ) : (
    <Badge tone="bad">another secret</Badge>
  );
}

/** `X-Signature`; null without a secret. Pages that came by plain HTTP from another machine have no Web Crypto. */
function useSignature(body: string, timestamp: string | null, secret: string): string | null {
  const [made, setMade] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    setMade(null);
    if (timestamp === null || secret === "" || globalThis.crypto?.subtle === undefined) return;
    void constructSignature({ body, secret, timestamp: Number(timestamp) * 1_000 }).then((headers) => {
      if (isCurrent) setMade(headers["X-Signature"] ?? null);
    });
    return () => {
      isCurrent = false;
    };
  }, [body, timestamp, secret]);
  return made;
}

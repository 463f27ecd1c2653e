/** Check a signature: headers, body and secret are pasted, and the page says which part is wrong. Nothing leaves the browser. */

import { useEffect, useState } from "react";
import { useApi, useConnected } from "../../api/context.ts";
import { useInbox } from "../../api/sandbox.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { FIELD } from "../../parts/form.tsx";
import { Icon } from "../../parts/icons.tsx";
import { realNow } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
import { checkSignature, parseHeaders, type SignatureCheck, type SignaturePart } from "./signature-check.ts";

const AREA = `${FIELD} font-mono text-xs`;

interface Pasted {
  headers: string;
  body: string;
  secret: string;
  /** The real time of its receipt, in milliseconds; null if it is not known. */
  receivedAt: number | null;
}

const NOTHING: Pasted = { headers: "", body: "", secret: "", receivedAt: null };

/** The part of `/webhooks/check`. */
export function CheckSignature() {
  const { session } = useConnected();
  const inbox = useInbox();
  const [pasted, setPasted] = useState(NOTHING);
  const check = useCheck(pasted);
  const takeNewest = async () => {
    const { data } = await inbox.refetch();
    const newest = data?.requests[0];
    if (data === undefined || newest === undefined) return toast("The inbox has no request yet.");
    const headers = Object.entries(newest.headers)
      .filter(([name]) => /^(x-|webhook-)/i.test(name))
      .map(([name, value]) => `${name}: ${value}`);
    // Signatures have the real time.
    const receivedAt = Date.parse(newest.realAt ?? newest.receivedAt);
    setPasted({ headers: headers.join("\n"), body: newest.body, secret: data.secret ?? "", receivedAt });
  };
  return (
    <div className="min-h-0 flex-1 overflow-y-auto scroll-thin">
      <div className="mx-auto grid w-full max-w-5xl gap-6 p-4 lg:grid-cols-2">
        <form className="flex flex-col gap-3" onSubmit={(event) => event.preventDefault()}>
          <p className="text-soft">
            Paste a request as your receiver got it. It is checked in this browser; the secret leaves it nowhere.
          </p>
          <label>
            <span className="font-medium">Headers</span>
            <textarea
              className={`${AREA} min-h-28`}
              spellCheck={false}
              placeholder={"X-Signature: sha256=…\nX-Timestamp: 1767323045"}
              value={pasted.headers}
              onChange={(event) => setPasted({ ...pasted, headers: event.target.value, receivedAt: null })}
            />
          </label>
          <label>
            <span className="font-medium">Raw body</span>
            <textarea
              className={`${AREA} min-h-40`}
              spellCheck={false}
              placeholder={'{"id":"evt_…","type":"message.delivered",…}'}
              value={pasted.body}
              onChange={(event) => setPasted({ ...pasted, body: event.target.value })}
            />
          </label>
          <label>
            <span className="font-medium">Secret</span>
            <input
              className={AREA}
              spellCheck={false}
              autoComplete="off"
              placeholder="whsec_…"
              value={pasted.secret}
              onChange={(event) => setPasted({ ...pasted, secret: event.target.value })}
            />
          </label>
          <div className="flex flex-wrap gap-2">
            {session.isInboxOn && (
              <Button icon="arrowDownLeft" onClick={() => void takeNewest()}>
                Use the inbox's newest request
              </Button>
            )}
            <Button tone="quiet" onClick={() => setPasted(NOTHING)}>
              Clear
            </Button>
          </div>
        </form>
        <Result check={check} />
      </div>
    </div>
  );
}

/** The check of what is pasted; null as long as there is nothing, a text if it cannot be made. */
function useCheck(pasted: Pasted): SignatureCheck | string | null {
  const api = useApi();
  const [check, setCheck] = useState<SignatureCheck | string | null>(null);
  useEffect(() => {
    if (pasted.headers.trim() === "" && pasted.body === "") return setCheck(null);
    if (crypto.subtle === undefined) {
      return setCheck("A browser has cryptography on https and on localhost only: open the console there.");
    }
    const stop = new AbortController();
    const run = async () => {
      // Signatures have the real time, also where the sandbox's clock was moved.
      const given = { ...pasted, headers: parseHeaders(pasted.headers), now: realNow() };
      const found = await checkSignature({ ...given, sentBody: null });
      // The body that the service sent tells a changed body from a wrong secret.
      const id = /"(evt_[\w-]+)"/.exec(pasted.body)?.[1];
      const isUndecided = found.content.state === "unknown" && found.refusal === "SIGNATURE_WRONG";
      const event =
        isUndecided && id !== undefined ? await api.events.get(id, { signal: stop.signal }).catch(() => null) : null;
      const checked = event === null ? found : await checkSignature({ ...given, sentBody: JSON.stringify(event) });
      if (!stop.signal.aborted) setCheck(checked);
    };
    void run();
    return () => stop.abort();
  }, [api, pasted]);
  return check;
}

const TONES: Record<SignaturePart["state"], Tone> = { right: "good", wrong: "bad", unknown: "neutral" };

const VERDICTS: Record<SignatureCheck["verdict"], string> = {
  genuine: "bg-good-soft text-good",
  aged: "bg-warn-soft text-warn",
  refused: "bg-bad-soft text-bad",
};

function Result({ check }: { check: SignatureCheck | string | null }) {
  if (check === null || typeof check === "string") {
    return (
      <section aria-label="Result" className="h-fit rounded-xl border border-dashed p-6 text-soft">
        {check ?? (
          <>
            A signature has three parts: <b>the timestamp</b>, <b>the signed content</b> (timestamp, a dot, the raw
            body) and <b>the key</b>. The result says which one is wrong.
          </>
        )}
      </section>
    );
  }
  const { refusal, says, verdict, today, timestamp, content, key } = check;
  return (
    <section aria-label="Result" className="flex h-fit flex-col overflow-hidden rounded-xl border bg-raised">
      <p role="status" className={`flex items-start gap-2 px-4 py-3 ${VERDICTS[verdict]}`}>
        <Icon name={refusal === null ? "check" : "warning"} className="mt-0.5" />
        <span>
          {says} {refusal !== null && <code className="font-mono text-xs">{refusal}</code>}
        </span>
      </p>
      {today !== null && <p className="border-t bg-warn-soft px-4 py-3 text-warn">{today}</p>}
      <dl>
        <PartRow title="Timestamp" part={timestamp} />
        <PartRow title="Signed content" part={content} />
        <PartRow title="Key" part={key} />
      </dl>
    </section>
  );
}

function PartRow({ title, part: { state, says } }: { title: string; part: SignaturePart }) {
  return (
    <div className="grid grid-cols-[7rem_minmax(0,1fr)] gap-x-3 gap-y-1 border-t px-4 py-2.5">
      <dt className="font-medium">{title}</dt>
      <dd className="flex flex-col items-start gap-1">
        <Badge tone={TONES[state]}>{state === "unknown" ? "cannot be told" : state}</Badge>
        <span className="text-soft">{says}</span>
      </dd>
    </div>
  );
}

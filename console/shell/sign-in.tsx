/** The page of a browser that is not signed in: a key, or a one-time link. */

import { type FormEvent, useState } from "react";
import type { Session } from "../../sdk/wire.ts";
import { signIn } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import { FIELD_LOOK, Problem } from "../parts/form.tsx";
import { Mark } from "../parts/icons.tsx";

/** The form of the key. `refusal` says why a link was not taken. */
export function SignIn({ refusal, onSignedIn }: { refusal: unknown; onSignedIn: (session: Session) => void }) {
  const [key, setKey] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(refusal);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      onSignedIn(await signIn({ key: key.trim() }));
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return (
    <main className="flex min-h-full flex-col items-center bg-panel px-4 pt-[16vh] pb-8">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex items-center gap-2.5">
          <Mark size={28} />
          <h1 className="text-lg font-semibold">Tightbeam</h1>
        </div>
        <form
          className="rounded-xl border bg-raised p-5 shadow-sm"
          onSubmit={(event) => {
            void submit(event);
          }}
        >
          <label htmlFor="key" className="font-medium">
            API key
          </label>
          <input
            id="key"
            name="key"
            type="password"
            autoComplete="current-password"
            spellCheck={false}
            placeholder="tb_…"
            value={key}
            onChange={(event) => setKey(event.target.value)}
            aria-invalid={error != null}
            aria-describedby={error == null ? undefined : "refusal"}
            className={`mt-1.5 h-9 w-full px-2.5 font-mono ${FIELD_LOOK}`}
          />
          {error != null && <Problem id="refusal">{error instanceof Error ? error.message : String(error)}</Problem>}
          <Button
            type="submit"
            tone="primary"
            disabled={isBusy || key.trim() === ""}
            className="mt-4 h-9 w-full justify-center"
          >
            {isBusy ? "Signing in…" : "Sign in"}
          </Button>
        </form>
        <p className="mt-4 px-1 text-soft">
          The key of a customer shows that customer's records, an admin key all of them. On the machine of the service,{" "}
          <code className="rounded bg-hover px-1 py-0.5 font-mono text-xs">npx tightbeam open</code> opens this page
          signed in.
        </p>
      </div>
    </main>
  );
}

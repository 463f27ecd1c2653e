/** Signs in, and gives the console its client, its cache and its live stream. */

import type { QueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import type { Session } from "../../sdk/wire.ts";
import { connectSession } from "../api/client.ts";
import { type Connected, ConnectedProvider } from "../api/context.ts";
import { startLive } from "../api/live.ts";
import { liveSource } from "../api/live-source.ts";
import { createCache, keepFresh } from "../api/queries.ts";
import {
  joinSessionTabs,
  LINK_HASH,
  readSession,
  type SessionTabs,
  signIn,
  signOut,
  takeLinkToken,
  untilShown,
} from "../api/session.ts";
import { Failed } from "../parts/empty.tsx";
import { readPreference, writePreference } from "../parts/kept.ts";
import { toastError } from "../parts/toasts.tsx";
import { SignIn } from "./sign-in.tsx";

type State =
  | { is: "reading" }
  | { is: "unreachable"; error: unknown }
  | { is: "signed-out"; refusal: unknown }
  | { is: "signed-in"; session: Session };

/** The session of this browser; a one-time link in the address bar is exchanged first. */
async function enter(): Promise<State> {
  await untilShown();
  const link = takeLinkToken();
  let refusal: unknown = null;
  if (link !== null) {
    try {
      return { is: "signed-in", session: await signIn({ link }) };
    } catch (error) {
      refusal = error;
    }
  }
  try {
    const session = await readSession();
    return session === null ? { is: "signed-out", refusal } : { is: "signed-in", session };
  } catch (error) {
    return { is: "unreachable", error };
  }
}

/** A state that is read again: the same session goes on. */
function after(before: State, read: State): State {
  const isSame = before.is === "signed-in" && read.is === "signed-in" && before.session.id === read.session.id;
  return isSame ? before : read;
}

const ENDED = new Error("The session has ended. Sign in again.");

/** The page before and after the sign-in. */
export function Connection({ children }: { children: (cache: QueryClient) => ReactNode }) {
  const [state, setState] = useState<State>({ is: "reading" });
  const read = useCallback(() => void enter().then((next) => setState((before) => after(before, next))), []);
  const tabs = useRef<SessionTabs | null>(null);
  useEffect(() => {
    read();
    const joined = joinSessionTabs(read);
    tabs.current = joined;
    // A link that is pasted into a page that is open already.
    const onHash = () => location.hash.startsWith(LINK_HASH) && read();
    addEventListener("hashchange", onHash);
    return () => {
      removeEventListener("hashchange", onHash);
      joined.close();
    };
  }, [read]);
  const change = useCallback((next: State) => {
    setState(next);
    tabs.current?.announce();
  }, []);
  const onEnded = useCallback(() => setState({ is: "signed-out", refusal: ENDED }), []);
  const onLeft = useCallback(() => change({ is: "signed-out", refusal: null }), [change]);
  if (state.is === "reading") return null;
  if (state.is === "unreachable") return <Failed error={state.error} onRetry={read} />;
  if (state.is === "signed-out") {
    return <SignIn refusal={state.refusal} onSignedIn={(session) => change({ is: "signed-in", session })} />;
  }
  return (
    <SignedIn key={state.session.id} session={state.session} onEnded={onEnded} onLeft={onLeft}>
      {children}
    </SignedIn>
  );
}

interface SignedInProps {
  session: Session;
  /** The service no longer knows the session. */
  onEnded: () => void;
  /** The reader has signed out. */
  onLeft: () => void;
  children: (cache: QueryClient) => ReactNode;
}

/** The customer that an admin chose last in this browser; null without a choice. */
function chosenCustomer(): string | null {
  return readPreference("customer") || null;
}

function SignedIn({ session, onEnded, onLeft, children }: SignedInProps) {
  const [customerId, setCustomerId] = useState(session.scope === "admin" ? chosenCustomer() : session.customerId);
  const [connected, setConnected] = useState<{ value: Connected; cache: QueryClient } | null>(null);
  useEffect(() => {
    const cache = createCache();
    const name = `tightbeam-live ${session.id} ${customerId ?? ""}`;
    const live = startLive(name, liveSource(session, customerId, onEnded));
    const endFresh = keepFresh(cache, live);
    const value: Connected = {
      session,
      api: connectSession(session, customerId, { onSignedOut: onEnded }),
      live,
      customerId,
      setCustomerId: (id) => {
        writePreference("customer", id ?? "");
        setCustomerId(id);
      },
      leave: () => void signOut(session).then(onLeft, toastError),
    };
    setConnected({ value, cache });
    return () => {
      endFresh();
      live.stop();
    };
  }, [session, customerId, onEnded, onLeft]);
  if (connected === null) return null;
  return <ConnectedProvider value={connected.value}>{children(connected.cache)}</ConnectedProvider>;
}

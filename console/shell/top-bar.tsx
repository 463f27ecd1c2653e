/** The top bar: where one is, whose records they are, whether they are live, and the doors to palette, Wire, theme and help. */

import { useEffect } from "react";
import { useLocation } from "wouter";
import { useConnected, useLiveState } from "../api/context.ts";
import type { LiveState } from "../api/live-notes.ts";
import { useCustomers } from "../api/service.ts";
import { IconButton, Kbd } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icons.tsx";
import { paletteKey } from "../parts/keys.ts";
import type { Screen } from "../parts/screen.ts";
import type { Theme } from "../parts/themes.ts";
import { isAt } from "./side-bar.tsx";
import { useTheme } from "./theme.ts";

interface TopBarProps {
  screens: readonly Screen[];
  isWireOpen: boolean;
  onMenu: () => void;
  onPalette: () => void;
  onHelp: () => void;
  onWire: () => void;
}

const THEME_ICONS: Record<Theme, IconName> = { system: "screen", light: "sun", dark: "moon" };
const THEME_NAMES: Record<Theme, string> = { system: "as the system", light: "light", dark: "dark" };

/** The top bar. */
export function TopBar({ screens, isWireOpen, onMenu, onPalette, onHelp, onWire }: TopBarProps) {
  const [path] = useLocation();
  const { theme, next } = useTheme();
  const screen = screens.find((one) => isAt(one, path));
  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b px-3">
      <IconButton label="Menu" icon="menu" className="md:hidden" onClick={onMenu} />
      <h1 className="shrink-0 px-1 text-base font-semibold">{screen?.title ?? "Tightbeam"}</h1>
      <Customers />
      <div className="flex-1" />
      <LiveDot />
      <button
        type="button"
        onClick={onPalette}
        className="mx-1 flex h-7 items-center gap-2 rounded-md border bg-panel px-2 text-faint hover:bg-hover max-sm:border-transparent max-sm:bg-transparent"
      >
        <Icon name="search" size={14} />
        <span className="max-md:sr-only">Search or paste an id</span>
        <Kbd>{paletteKey()}</Kbd>
      </button>
      <IconButton
        label={isWireOpen ? "Hide the Wire" : "Show the Wire"}
        hint="~"
        icon="wire"
        aria-pressed={isWireOpen}
        className={isWireOpen ? "bg-accent-soft text-accent" : ""}
        onClick={onWire}
      />
      <IconButton label={`Theme: ${THEME_NAMES[theme]}`} icon={THEME_ICONS[theme]} onClick={next} />
      <IconButton label="Keys" hint="?" icon="help" className="max-sm:hidden" onClick={onHelp} />
    </header>
  );
}

/** The customer whose records an admin sees. */
function Customers() {
  const { session, customerId, setCustomerId } = useConnected();
  const customers = useCustomers();
  const all = customers.data?.customers ?? [];
  // The choice is kept by the browser: another service at the same address does not have it, and would refuse every request.
  const isGone =
    customerId !== null && customers.data?.pagination.hasMore === false && !all.some(({ id }) => id === customerId);
  useEffect(() => {
    if (session.scope === "admin" && isGone) setCustomerId(null);
  }, [session.scope, isGone, setCustomerId]);
  if (session.scope !== "admin" || all.length < 2) return null;
  return (
    <select
      aria-label="Customer"
      value={customerId ?? ""}
      onChange={(event) => setCustomerId(event.target.value || null)}
      className="ml-1 h-7 max-w-40 min-w-0 truncate rounded-md border border-transparent bg-transparent px-1 text-soft hover:bg-hover"
    >
      <option value="">First customer</option>
      {all.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

const LIVE: Record<LiveState, { text: string; dot: string }> = {
  connecting: { text: "Connecting", dot: "bg-faint pulse-dot" },
  live: { text: "Live", dot: "bg-good" },
  reconnecting: { text: "Reconnecting", dot: "bg-warn pulse-dot" },
};

/** Whether what the page shows is of now. */
function LiveDot() {
  const state = useLiveState();
  const { text, dot } = LIVE[state];
  return (
    <span
      role="status"
      className="flex items-center gap-1.5 px-1 text-xs text-soft"
      title={state === "live" ? "Events arrive as they happen" : "Events follow as soon as the service answers"}
    >
      <span aria-hidden="true" className={`size-1.5 rounded-full ${dot}`} />
      <span className={state === "live" ? "max-sm:sr-only" : ""}>{text}</span>
    </span>
  );
}

/** The shell around every screen: band, side bar, top bar, palette, help and the Wire. */

import { type ReactNode, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { useConnected } from "../api/context.ts";
import { useKeys } from "../parts/keys.ts";
import { usePreference } from "../parts/preference.ts";
import type { Screen } from "../parts/screen.ts";
import { Toasts } from "../parts/toasts.tsx";
import { KeyHelp } from "./key-help.tsx";
import { Palette } from "./palette.tsx";
import { keepOpened } from "./recent.ts";
import { SandboxBand } from "./sandbox-band.tsx";
import { SideBar } from "./side-bar.tsx";
import { TopBar } from "./top-bar.tsx";
import { useDock, WireDock } from "./wire-dock.tsx";

/** The page of somebody who is signed in. */
export function Shell({ screens, children }: { screens: readonly Screen[]; children: ReactNode }) {
  const [path] = useLocation();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [open, setOpen] = useState<"palette" | "help" | null>(null);
  const dock = useDock();
  const { session } = useConnected();
  const [kept, keep] = usePreference(`opened.${session.keyId}`, "");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of a narrow page closes at each change of the address.
  useEffect(() => setMenuOpen(false), [path]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page is opened when the address changes.
  useEffect(() => keep(keepOpened(kept, path)), [path]);
  useKeys([
    { key: "Mod+k", label: "Go to anything, or to a pasted id", run: () => setOpen("palette"), whileTyping: true },
    { key: "~", label: "Show or hide the Wire", run: dock.toggle, whileTyping: "empty" },
    { key: "?", label: "Show these keys", run: () => setOpen("help") },
  ]);
  return (
    <div className="flex h-full flex-col">
      <a href="#screen" className="absolute -top-12 left-2 z-50 rounded-md bg-raised px-3 py-1.5 shadow focus:top-2">
        Skip to the screen
      </a>
      <SandboxBand />
      <div className="flex min-h-0 flex-1">
        <SideBar screens={screens} isOpen={isMenuOpen} onClose={() => setMenuOpen(false)} />
        <div className="flex min-w-0 flex-1 flex-col">
          <TopBar
            screens={screens}
            isWireOpen={dock.isOpen}
            onMenu={() => setMenuOpen(true)}
            onPalette={() => setOpen("palette")}
            onHelp={() => setOpen("help")}
            onWire={dock.toggle}
          />
          <div className={`flex min-h-0 flex-1 ${dock.side === "right" ? "flex-col lg:flex-row" : "flex-col"}`}>
            <main
              id="screen"
              tabIndex={-1}
              className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto outline-none scroll-thin"
            >
              {children}
            </main>
            {dock.isOpen && <WireDock dock={dock} />}
          </div>
        </div>
      </div>
      <Palette screens={screens} open={open === "palette"} onClose={() => setOpen(null)} />
      <KeyHelp open={open === "help"} onClose={() => setOpen(null)} />
      <Toasts />
    </div>
  );
}

/** The palette (⌘K): goes to a screen, a part of one or where a verb is done, to the record of a pasted id, to a page of the documentation, or to the messages with some words. */

import { Dialog } from "@base-ui/react/dialog";
import { type KeyboardEvent, useState } from "react";
import { useLocation } from "wouter";
import { useConnected } from "../api/context.ts";
import { useDocsSections } from "../api/documentation.ts";
import type { Screen } from "../pages/screens.ts";
import { findAddress } from "../parts/addresses.ts";
import { Icon, type IconName } from "../parts/icons.tsx";
import { isFound, placesFor } from "./palette-places.ts";
import { useTheme } from "./theme.ts";

interface Command {
  id: string;
  title: string;
  hint?: string;
  icon: IconName;
  /** More words that it is found by. */
  words?: string | undefined;
  run: () => void;
}

/** The commands for what was typed: a pasted id comes first. */
function useCommands(text: string, screens: readonly Screen[]): Command[] {
  const [, navigate] = useLocation();
  const { session } = useConnected();
  const { theme, next } = useTheme();
  const wanted = text.trim().toLowerCase();
  const address = findAddress(text);
  const places: Command[] = screens.flatMap(({ title, icon, paths }) =>
    icon === undefined ? [] : [{ id: title, title, icon, run: () => navigate(paths[0] ?? "/") }],
  );
  const docs: Command = { id: "docs", title: "Docs", icon: "docs", run: () => location.assign("/docs") };
  const sections: Command[] = useDocsSections(text).map(({ path, page, heading }) => ({
    id: `docs-${path}`,
    title: heading || page,
    hint: heading === "" ? "Docs" : `Docs · ${page}`,
    icon: "docs",
    run: () => location.assign(path),
  }));
  const parts = placesFor(session).map(
    ({ path, ...place }): Command => ({ ...place, id: `place-${place.title}`, run: () => navigate(path) }),
  );
  const all: Command[] = [
    ...places,
    docs,
    { id: "theme", title: "Change the theme", hint: theme, icon: "moon", words: "dark light", run: next },
    // Without a word the list is that of the screens.
    ...(wanted === "" ? [] : parts),
  ];
  const found = all.filter(({ title, words }) => isFound(wanted, title, words));
  if (address !== null) {
    found.unshift({
      id: "address",
      title: `Open the ${address.noun}`,
      hint: address.path,
      icon: "arrowUpRight",
      run: () => navigate(address.path),
    });
  } else if (wanted !== "") {
    const search = () => navigate(`/messages?q=${encodeURIComponent(text.trim())}`);
    found.push(
      { id: "search", title: `Search messages for “${text.trim()}”`, icon: "search", run: search },
      ...sections,
    );
  }
  return found;
}

/** The palette. */
export function Palette({
  screens,
  open,
  onClose,
}: {
  screens: readonly Screen[];
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog.Root open={open} onOpenChange={(isOpen) => isOpen || onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/35" />
        <Dialog.Popup
          aria-label="Go to"
          className="fixed top-[12vh] left-1/2 z-50 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 overflow-hidden rounded-xl border bg-raised shadow-2xl outline-none"
        >
          <PaletteBody screens={screens} onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function PaletteBody({ screens, onClose }: { screens: readonly Screen[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const commands = useCommands(text, screens);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + commands.length) % Math.max(1, commands.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(commands[chosen]);
    }
  };
  return (
    <>
      <div className="flex h-11 items-center gap-2.5 border-b px-4">
        <Icon name="search" className="text-faint" />
        <input
          // biome-ignore lint/a11y/noAutofocus: the palette was opened to type into it.
          autoFocus
          role="combobox"
          aria-label="Go to a screen, or paste an id"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={commands[chosen] === undefined ? undefined : `palette-${commands[chosen].id}`}
          autoComplete="off"
          spellCheck={false}
          placeholder="Go to a screen, or paste an id or a number"
          className="h-full flex-1 bg-transparent text-base outline-none"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id="palette-list" role="listbox" aria-label="Results" className="max-h-80 overflow-y-auto p-1.5 scroll-thin">
        {commands.map((command, index) => (
          <div
            key={command.id}
            id={`palette-${command.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className={`flex h-9 items-center gap-2.5 rounded-md px-2.5 ${index === chosen ? "bg-accent-soft" : ""}`}
            onPointerMove={() => setChosen(index)}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} className="text-soft" />
            <span className="truncate">{command.title}</span>
            {command.hint !== undefined && (
              <span className="ml-auto truncate pl-4 font-mono text-xs text-faint">{command.hint}</span>
            )}
          </div>
        ))}
      </div>
    </>
  );
}

/**
 * The palette (⌘K): goes to a record that was opened last, to a screen, a part of one or where a verb is done, to a contact, to the record
 * of a pasted id, to a page of the documentation, or to the messages with some words.
 */

import { Dialog } from "@base-ui/react/dialog";
import { type KeyboardEvent, useState } from "react";
import { useLocation } from "wouter";
import { addressesOf, nameOf } from "../api/contact-book.ts";
import { useContactSearch, useNames } from "../api/contacts.ts";
import { useConnected } from "../api/context.ts";
import { useDocsSections } from "../api/documentation.ts";
import { contactOf, useMessagesOf } from "../api/messages.ts";
import { findAddress, numberInPath, pathOfPhone, shortenId } from "../parts/addresses.ts";
import { Icon, type IconName } from "../parts/icons.tsx";
import { usePreference } from "../parts/preference.ts";
import type { Screen } from "../parts/screen.ts";
import { isFound, placesFor } from "./palette-places.ts";
import { openedRecords } from "./recent.ts";
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

/** The records that were opened last. */
function useRecentCommands(): Command[] {
  const [, navigate] = useLocation();
  const { session } = useConnected();
  const [kept] = usePreference(`opened.${session.keyId}`, "");
  const nameOfAddress = useNames();
  const records = openedRecords(kept);
  const messages = useMessagesOf(records.filter(({ noun }) => noun === "Message").map(({ id }) => id));
  return records.map(({ path, noun, id }) => {
    const message = messages.get(id);
    const address = message === undefined ? id : contactOf(message);
    const about = nameOfAddress(address) ?? shortenId(address);
    return {
      id: `recent-${path}`,
      title: message === undefined ? `${noun} ${about}` : `${about}: ${message.content.text ?? message.messageType}`,
      hint: "opened last",
      icon: ICONS[noun] ?? "webhooks",
      words: `${noun} ${id}`,
      run: () => navigate(path),
    };
  });
}

const ICONS: Record<string, IconName> = { Message: "messages", "Phone of": "phone", Request: "logs" };

/** The contacts that match: to the messages with each, and in a sandbox to the phone. */
function useContactCommands(text: string): Command[] {
  const [, navigate] = useLocation();
  const { session } = useConnected();
  return useContactSearch(text).flatMap((contact) => {
    const address = addressesOf(contact)[0] ?? "";
    const title = nameOf(contact) ?? address;
    const messages: Command = {
      id: `contact-${contact.id}`,
      title,
      hint: `Messages · ${address}`,
      icon: "person",
      run: () => navigate(pathOfMessagesWith(address)),
    };
    if (!session.isSandbox || contact.phoneNumber === null) return [messages];
    const phone = pathOfPhone(contact.phoneNumber);
    const hint = `Phone · ${contact.phoneNumber}`;
    return [messages, { id: `phone-${contact.id}`, title, hint, icon: "phone", run: () => navigate(phone) }];
  });
}

/** The messages with a contact. */
function pathOfMessagesWith(address: string): string {
  return `/messages?q=${encodeURIComponent(`chat:${address}`)}`;
}

/** The commands for what was typed: a pasted id comes first. */
function useCommands(text: string, screens: readonly Screen[]): Command[] {
  const [, navigate] = useLocation();
  const { session } = useConnected();
  const { theme, next } = useTheme();
  const wanted = text.trim().toLowerCase();
  const address = findAddress(text);
  const recent = useRecentCommands();
  const contacts = useContactCommands(wanted);
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
    // Without a word the list is that of the records and screens.
    ...(wanted === "" ? recent : []),
    ...places,
    docs,
    { id: "theme", title: "Change the theme", hint: theme, icon: "moon", words: "dark light", run: next },
    ...(wanted === "" ? [] : parts),
  ];
  const matching = (commands: readonly Command[]) =>
    commands.filter(({ title, words }) => isFound(wanted, title, words));
  const found = [...matching(all), ...contacts, ...(wanted === "" ? [] : matching(recent))];
  if (address !== null) {
    const isPhone = address.noun === "phone";
    const number = numberInPath(address.path.slice("/p/".length));
    const path = isPhone && !session.isSandbox ? pathOfMessagesWith(number) : address.path;
    found.unshift({
      id: "address",
      title: isPhone && !session.isSandbox ? `Messages with ${number}` : `Open the ${address.noun}`,
      hint: path,
      icon: "arrowUpRight",
      run: () => navigate(path),
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
          placeholder="Go to a screen or a contact, or paste an id"
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
              <span className="ml-auto max-w-[55%] shrink-0 truncate pl-4 font-mono text-xs text-faint">
                {command.hint}
              </span>
            )}
          </div>
        ))}
      </div>
    </>
  );
}

/** One search line with chips, kept in the address: `/messages?q=status:failed+since:1h`. */

import { type KeyboardEvent, useId, useMemo, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { Kbd } from "./button.tsx";
import { Icon } from "./icons.tsx";
import { useKeys } from "./keys.ts";
import { formatSearch, isIgnored, parseSearch, type Search, withTerm } from "./search-terms.ts";

/** A field that can be searched. */
export interface SearchField {
  name: string;
  hint: string;
  /** All of its values, if they are few. */
  values?: readonly string[];
  /** Some of its values, if there are many. */
  examples?: readonly string[];
}

/** The search of the address, and its setter. */
export function useSearchLine(fields: readonly SearchField[]): [Search, (search: Search) => void] {
  const [params, setParams] = useSearchParams();
  const text = params.get("q") ?? "";
  const search = useMemo(
    () =>
      parseSearch(
        text,
        fields.map(({ name }) => name),
      ),
    [text, fields],
  );
  const set = (next: Search) => {
    const line = formatSearch(next);
    setParams(
      (previous) => {
        const changed = new URLSearchParams(previous);
        if (line === "") changed.delete("q");
        else changed.set("q", line);
        return changed;
      },
      { replace: true },
    );
  };
  return [search, set];
}

interface SearchLineProps {
  label: string;
  fields: readonly SearchField[];
  search: Search;
  onSearch: (search: Search) => void;
}

interface Suggestion {
  text: string;
  hint: string;
}

/** The suggestions for what is being typed: fields, or the values of one. */
function suggestionsFor(draft: string, fields: readonly SearchField[]): Suggestion[] {
  const last = draft.split(/\s+/).at(-1) ?? "";
  const [name = "", value] = last.split(":");
  if (value === undefined) {
    return fields
      .filter((field) => field.name.startsWith(name))
      .map((field) => ({ text: `${field.name}:`, hint: field.hint }));
  }
  const field = fields.find((one) => one.name === name);
  return (field?.values ?? field?.examples ?? [])
    .filter((one) => one.startsWith(value) && one !== value)
    .map((one) => ({ text: `${name}:${one}`, hint: "" }));
}

/** The text that is being typed, and its effect on the search. */
function useDraft({ fields, search, onSearch }: SearchLineProps) {
  const names = fields.map(({ name }) => name);
  const [draft, setDraft] = useState<string | null>(null);
  const [chosen, setChosen] = useState(-1);
  const text = draft ?? search.words;
  const suggestions = draft === null ? [] : suggestionsFor(draft, fields);
  const commit = (line: string) => {
    const typed = parseSearch(line, names);
    onSearch({ terms: typed.terms.reduce(withTerm, { ...search, words: "" }).terms, words: typed.words });
    setChosen(-1);
  };
  const take = ({ text: taken }: Suggestion) => {
    const line = [...text.split(/\s+/).slice(0, -1), taken].join(" ");
    setChosen(-1);
    if (taken.endsWith(":")) return setDraft(line);
    commit(line);
    setDraft(parseSearch(line, names).words);
  };
  return {
    text,
    suggestions,
    chosen,
    take,
    isIdle: draft === null,
    begin: () => setDraft(search.words),
    /** A space ends a term, and makes it a chip. */
    type: (line: string) => {
      const typed = parseSearch(line, names);
      const isEnded = /\s$/.test(line) && typed.terms.length > 0;
      if (isEnded) commit(line);
      setDraft(isEnded ? typed.words : line);
    },
    end: () => {
      if (draft !== null && draft !== search.words) commit(draft);
      setDraft(null);
    },
    abandon: () => setDraft(null),
    move: (step: number) => setChosen(Math.max(-1, Math.min(suggestions.length - 1, chosen + step))),
  };
}

/** The line. `/` goes to it. */
export function SearchLine(props: SearchLineProps) {
  const { label, search, onSearch } = props;
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const draft = useDraft(props);
  useKeys([{ key: "/", label: "Search", run: () => input.current?.focus() }]);
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      draft.move(step);
    } else if (event.key === "Enter") {
      const suggestion = draft.suggestions[draft.chosen];
      if (suggestion !== undefined) draft.take(suggestion);
      else input.current?.blur();
    } else if (event.key === "Backspace" && draft.text === "" && search.terms.length > 0) {
      onSearch({ ...search, terms: search.terms.slice(0, -1) });
    } else if (event.key === "Escape") {
      event.stopPropagation();
      draft.abandon();
      requestAnimationFrame(() => input.current?.blur());
    }
  };
  return (
    <search className="relative min-w-0 flex-1">
      <div className="flex min-h-8 flex-wrap items-center gap-1.5 rounded-md border bg-raised px-2 focus-within:border-accent">
        <Icon name="search" size={14} className="text-faint" />
        <Chips fields={props.fields} search={search} onSearch={onSearch} />
        <input
          ref={input}
          role="combobox"
          aria-label={label}
          aria-expanded={draft.suggestions.length > 0}
          aria-controls={list}
          aria-activedescendant={draft.chosen < 0 ? undefined : `${list}-${draft.chosen}`}
          autoComplete="off"
          spellCheck={false}
          className="h-7 min-w-24 flex-1 bg-transparent outline-none"
          placeholder={search.terms.length === 0 ? label : ""}
          value={draft.text}
          onFocus={draft.begin}
          onBlur={draft.end}
          onChange={(event) => draft.type(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {draft.text === "" && search.terms.length === 0 && draft.isIdle && (
          <span className="text-faint">
            <Kbd>/</Kbd>
          </span>
        )}
      </div>
      <Suggestions id={list} suggestions={draft.suggestions} chosen={draft.chosen} onTake={draft.take} />
    </search>
  );
}

function Chips({ fields, search, onSearch }: Omit<SearchLineProps, "label">) {
  return search.terms.map((term) => (
    <button
      key={`${term.field}:${term.value}`}
      type="button"
      title={isIgnored(term, fields) ? "There is no such value: the search does without it. Remove" : "Remove"}
      className={`inline-flex h-5 max-w-full items-center gap-1 rounded px-1.5 text-xs ${isIgnored(term, fields) ? "bg-warn-soft text-warn line-through" : "bg-accent-soft text-accent"}`}
      onClick={() => onSearch({ ...search, terms: search.terms.filter((one) => one !== term) })}
    >
      <span className="truncate">
        {term.field}:{term.value}
      </span>
      <Icon name="close" size={10} />
    </button>
  ));
}

interface SuggestionsProps {
  id: string;
  suggestions: readonly Suggestion[];
  chosen: number;
  onTake: (suggestion: Suggestion) => void;
}

function Suggestions({ id, suggestions, chosen, onTake }: SuggestionsProps) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label="Suggestions"
      hidden={suggestions.length === 0}
      className="absolute inset-x-0 top-full z-30 mt-1 max-h-72 overflow-y-auto rounded-lg border bg-raised p-1 shadow-xl"
    >
      {suggestions.map((suggestion, index) => (
        <div
          key={suggestion.text}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          className={`flex items-baseline gap-3 rounded-md px-2 py-1 ${index === chosen ? "bg-accent-soft" : "hover:bg-hover"}`}
          onPointerDown={(event) => {
            event.preventDefault();
            onTake(suggestion);
          }}
        >
          <span className="font-mono text-xs">{suggestion.text}</span>
          <span className="truncate text-xs text-faint">{suggestion.hint}</span>
        </div>
      ))}
    </div>
  );
}

/** A command in curl, TypeScript and the CLI: the reader's choice is kept for all of them. */

import { CopyButton } from "./copy.tsx";
import { usePreference } from "./preference.ts";

/** The same request in each language; a language that cannot say it is left out. */
export interface Snippets {
  curl?: string;
  typescript?: string;
  cli?: string;
}

const LANGUAGES = [
  ["curl", "curl"],
  ["typescript", "TypeScript"],
  ["cli", "CLI"],
] as const;

interface CodeBlockProps {
  snippets: Snippets;
  label: string;
  /** The language for a reader who has not chosen one. */
  first?: keyof Snippets;
}

/** Code with tabs for its languages and a button that copies it. */
export function CodeBlock({ snippets, label, first = "curl" }: CodeBlockProps) {
  const [preferred, setPreferred] = usePreference("language", first);
  const offered = LANGUAGES.filter(([id]) => snippets[id] !== undefined);
  const shown = offered.find(([id]) => id === preferred) ?? offered[0];
  const code = shown === undefined ? "" : (snippets[shown[0]] ?? "");
  return (
    <figure aria-label={label} className="overflow-hidden rounded-lg border bg-panel">
      <div className="flex items-center justify-between border-b pr-1 pl-3">
        <div className="flex gap-3">
          {offered.map(([id, title]) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === shown?.[0]}
              className={`-mb-px h-8 border-b-2 text-xs font-medium ${id === shown?.[0] ? "border-accent text-text" : "border-transparent text-soft hover:text-text"}`}
              onClick={() => setPreferred(id)}
            >
              {title}
            </button>
          ))}
        </div>
        <CopyButton text={code} label="Copy the command" />
      </div>
      <pre tabIndex={0} className="overflow-x-auto p-3 font-mono text-xs leading-5 outline-offset-[-2px] scroll-thin">
        {code}
      </pre>
    </figure>
  );
}

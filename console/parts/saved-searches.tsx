/** Searches with a name, one click each. */

/** A search with a name; `q` is the search line. */
export interface SavedSearch {
  title: string;
  q: string;
}

/** The searches in a row; the one that equals the present line is marked. */
export function SavedSearches({
  searches,
  line,
  onPick,
}: {
  searches: readonly SavedSearch[];
  line: string;
  onPick: (q: string) => void;
}) {
  return (
    <div className="flex shrink-0 gap-1 overflow-x-auto px-4 pb-2 scroll-thin">
      {searches.map(({ title, q }) => (
        <button
          key={title}
          type="button"
          aria-pressed={q === line}
          onClick={() => onPick(q)}
          className={`h-6 rounded-full px-2.5 text-xs font-medium whitespace-nowrap ${q === line ? "bg-accent-soft text-accent" : "text-soft hover:bg-hover hover:text-text"}`}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

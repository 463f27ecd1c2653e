/** The tabs of one browser: one of them leads, by a lock, and tells all of them what it reads. */

/** The part of a tab in it. */
interface TabPart<Note> {
  /** Tabs of one name belong together. */
  name: string;
  /** Ends this tab's part. */
  signal: AbortSignal;
  /** Receives what a tab tells, this one among them. */
  onNote: (note: Note) => void;
  /** The leader's present note: for a tab that has just been opened, and as a sign of life. */
  welcome: () => Note;
  /** Leads until the signal is aborted; it does not throw. Begins once no other tab leads. */
  lead: (signal: AbortSignal) => Promise<void>;
}

type Letter<Note> = { note: Note } | { isNew: true };

/** The leader gives a sign of life in this time; in a tab in the background timers run once a minute. */
const BEAT_MS = 30_000;
/** A leader that is silent for so many of a tab's own beats is frozen with its page: the tab leads in its place. A sleep of the computer has no beats. */
const SILENT_BEATS_MAX = 5;

/** Joins the other tabs. Returns the function that tells all tabs a note. */
export function joinTabs<Note>({ name, signal, onNote, welcome, lead }: TabPart<Note>): (note: Note) => void {
  // A page that came by plain HTTP from another machine has no locks: there each tab is alone, and leads.
  if (!("locks" in navigator)) {
    void lead(signal);
    return onNote;
  }
  const channel = new BroadcastChannel(name);
  let leading: AbortController | null = null;
  let silentBeats = 0;

  const post = (letter: Letter<Note>) => {
    if (!signal.aborted) channel.postMessage(letter);
  };
  const begin = () => {
    leading = new AbortController();
    return lead(AbortSignal.any([signal, leading.signal]));
  };
  const request = (options: LockOptions) => {
    navigator.locks.request(name, options, begin).catch(() => {
      if (signal.aborted) return;
      const wasStolen = leading !== null;
      leading?.abort();
      leading = null;
      // A browser that refuses locks, as in some private windows, leaves the tab alone.
      if (wasStolen) request({ signal });
      else void begin();
    });
  };
  const beat = () => {
    if (leading !== null) return post({ note: welcome() });
    silentBeats += 1;
    if (silentBeats < SILENT_BEATS_MAX) return;
    silentBeats = 0;
    request({ steal: true });
  };
  const timer = setInterval(beat, BEAT_MS);
  signal.addEventListener("abort", () => {
    clearInterval(timer);
    channel.close();
  });
  channel.onmessage = ({ data }: { data: Letter<Note> }) => {
    if ("note" in data) {
      silentBeats = 0;
      onNote(data.note);
    } else if (leading !== null) post({ note: welcome() });
  };
  post({ isNew: true });
  request({ signal });
  // Note by note, and not in batches: the leader may be in the background, where timers are slow.
  return (note) => {
    onNote(note);
    post({ note });
  };
}

/** Choices of this browser's reader: kept in its local storage, and shared by its tabs. */

const PREFIX = "tightbeam.";
const listeners = new Set<() => void>();

/** Listens to changes of all choices, in this tab and in others. Returns the end of it. */
export function onPreference(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}

/** Reads a choice. Without storage, as in some private windows, there is none. */
export function readPreference(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Whether this browser keeps choices: some private windows do not. */
export function keepsPreferences(): boolean {
  try {
    return localStorage.getItem(PREFIX) !== undefined;
  } catch {
    return false;
  }
}

/** Keeps a choice, and shows it wherever it is used. */
export function writePreference(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // It then lasts as long as nobody asks again.
  }
  for (const listener of listeners) listener();
}

/** Short addresses: the page of a record by its id, and the page of a phone by its number. Pure. */

/** The first letters of an id, and the path of its page. */
const PAGES: Record<string, string> = { msg: "/m/", evt: "/e/", dlv: "/d/", req: "/r/", wh: "/webhooks/endpoints/" };

/** Noun of an id, for people. */
const NOUNS: Record<string, string> = { msg: "message", evt: "event", dlv: "delivery", req: "request", wh: "endpoint" };

/** The page of the record that an id names, or of the phone that a number names; null if it is neither. */
export function findAddress(text: string): { path: string; noun: string } | null {
  const [id, kind = ""] = /\b(msg|evt|dlv|req|wh)_[0-9A-Za-z-]+/.exec(text) ?? [];
  if (id !== undefined) return { path: (PAGES[kind] ?? "/") + id, noun: NOUNS[kind] ?? "record" };
  const number = text.trim().replace(/[\s().-]/g, "");
  return /^\+\d{7,15}$/.test(number) ? { path: `/p/${number}`, noun: "phone" } : null;
}

/** The page of a phone; a plus is itself in a path. */
export function pathOfPhone(number: string): string {
  return `/phone/${encodeURIComponent(number).replaceAll("%2B", "+")}`;
}

/** The number in the path of a phone's page; text that cannot be decoded is as it stands. */
export function numberInPath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The page of a request. Its id may be one that the caller chose. */
export function pathOfRequest(id: string): string {
  return `/logs/${encodeURIComponent(id)}`;
}

/** The path of a record's page. */
export function pathOf(id: string): string {
  return findAddress(id)?.path ?? "/";
}

/** The end of a number, beside a name: `…0142`. An e-mail address as far as its @. */
export function shortenAddress(address: string): string {
  return address.startsWith("+") ? `…${address.slice(-4)}` : address.replace(/@.*$/, "@…");
}

/** The number that a path of the API names; null if there is none. */
export function numberInApiPath(path: string): string | null {
  return /\/(\+\d{5,15})(?=[/?]|$)/.exec(numberInPath(path))?.[1] ?? null;
}

/** The end of an id, for a narrow column: `msg_…c167af31`. */
export function shortenId(id: string): string {
  const [, prefix = "", rest = id] = /^([a-z]+_)(.+)$/.exec(id) ?? [];
  return rest.length > 12 ? `${prefix}…${rest.slice(-8)}` : id;
}

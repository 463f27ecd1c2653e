/** Builds a request from the fields of a form, and says what its response means. Pure. */

/** A field that somebody filled in. */
export interface FormValue {
  place: string;
  name: string;
  value: string;
}

/** A request to send, or the reason why there is none. */
export type TriedRequest = { path: string; body: string | null } | { problem: string };

/** The request of a form: empty fields are left out. */
export function requestOf(template: string, values: readonly FormValue[]): TriedRequest {
  let path = template;
  for (const { name, value } of values.filter(({ place }) => place === "path")) {
    if (value.trim() === "") return { problem: `Fill in ${name}: it is a part of the path.` };
    path = path.replace(`{${name}}`, encodeURIComponent(value.trim()).replaceAll("%2B", "+").replaceAll("%40", "@"));
  }
  const query = new URLSearchParams();
  for (const { name, value } of values.filter(({ place }) => place === "query")) {
    if (value.trim() !== "") query.append(name, value.trim());
  }
  const text = values.find(({ place }) => place === "body")?.value.trim() ?? "";
  const problem = text === "" ? null : jsonProblem(text);
  if (problem !== null) return { problem };
  return { path: query.size === 0 ? path : `${path}?${query}`, body: text === "" ? null : text };
}

function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `The body is not valid JSON: ${error instanceof Error ? error.message : error}`;
  }
}

/** The part of a session that decides what may be tried. */
export interface TryingSession {
  scope: "customer" | "admin";
  keyName: string;
}

/** Who sends the request, in sentences. `scope`: the keys that the operation takes; empty for none. */
export function whoSends(session: TryingSession | null, scope: string): string {
  if (scope === "") return "This operation needs no key.";
  if (session === null) return "Nobody is signed in here.";
  const name = `You are signed in with the key “${session.keyName}”.`;
  if (scope === "admin" && session.scope === "customer") return `${name} This operation needs an admin key.`;
  if (scope === "messages" && session.scope === "admin")
    return `${name} It acts for the customer that is chosen in the console.`;
  return name;
}

/** The sentence of an error response; null for a success. */
export function errorOf(body: unknown): { message: string; code: string } | null {
  const error: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "error") : null;
  if (typeof error !== "object" || error === null) return null;
  return { message: String(Reflect.get(error, "message")), code: String(Reflect.get(error, "code")) };
}

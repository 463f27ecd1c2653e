/** Addresses of the console's pages, by the ids of what they show. */

/** The path of a page, by the prefix of an id. */
const PAGES: readonly (readonly [prefix: string, path: string])[] = [
  ["msg_", "/m/"],
  ["evt_", "/e/"],
  ["dlv_", "/d/"],
  ["req_", "/r/"],
  ["wh_", "/webhooks/endpoints/"],
  ["+", "/p/"],
];

/** The path of the page of a record, or of a phone of the sandbox; null for an id of another kind. */
export function pagePath(id: string): string | null {
  const page = PAGES.find(([prefix]) => id.startsWith(prefix));
  return page === undefined ? null : `${page[1]}${encodeURIComponent(id)}`;
}

/** The address of that page on the server at `baseUrl`. */
export function pageAddress(baseUrl: string, id: string): string {
  return `${baseUrl.replace(/\/$/, "")}${pagePath(id) ?? "/"}`;
}

/** Writes the request of an attempt as curl. Pure. */

import { quote } from "./snippets.ts";

/** The command that sends the same headers and the same bytes again. A receiver that checks the timestamp accepts it for five minutes. */
export function attemptCurl(url: string, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = [`curl -X POST ${quote(url)}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quote(`${name}: ${value}`)}`);
  return [...lines, `--data-binary ${quote(body)}`].join(" \\\n  ");
}

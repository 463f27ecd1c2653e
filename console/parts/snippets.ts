/** Writes a request of the API as curl and as TypeScript. Pure. */

import type { Snippets } from "./code-block.tsx";

/** A request of the API. */
export interface ApiCall {
  method: string;
  path: string;
  body?: unknown;
  /** The call of the client, such as `tightbeam.messages.send({ … })`. */
  typescript?: string;
  /** The command without `npx tightbeam`. */
  cli?: string;
}

/** The request in every language. The key stays a variable: a session's key is not known to the page. */
export function snippetsOf(call: ApiCall, baseUrl: string): Snippets {
  return {
    curl: curlOf(call, baseUrl),
    ...(call.typescript === undefined ? {} : { typescript: typescriptOf(call.typescript, baseUrl) }),
    ...(call.cli === undefined ? {} : { cli: `npx tightbeam ${call.cli}` }),
  };
}

function curlOf({ method, path, body }: ApiCall, baseUrl: string): string {
  const lines = [
    `curl -s ${method === "GET" || (method === "POST" && body !== undefined) ? "" : `-X ${method} `}${quote(baseUrl + path)}`,
  ];
  const key = path.startsWith("/v1/admin/") ? "TIGHTBEAM_ADMIN_KEY" : "TIGHTBEAM_API_KEY";
  lines.push(`  -H "Authorization: Bearer $${key}"`);
  if (body !== undefined) lines.push('  -H "Content-Type: application/json"', `  -d ${quote(JSON.stringify(body))}`);
  return lines.join(" \\\n");
}

/** A word of the shell; quoted only if it has to be. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function typescriptOf(call: string, baseUrl: string): string {
  return `import { Tightbeam } from "@tightbeam/sdk";

const tightbeam = new Tightbeam({ baseUrl: "${baseUrl}" }); // the key is in TIGHTBEAM_API_KEY
const result = await ${call};`;
}

/** The page in place of all that are not built yet. */

import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";
import { POLICY, SECURITY_HEADERS } from "./security-headers.ts";

/** Loads the page anew, also at an address with a fragment such as a sign-in link, where the header Refresh loads nothing. */
const RELOAD = "setTimeout(() => location.reload(), 2000);";
const RELOAD_HASH = `'sha256-${createHash("sha256").update(RELOAD).digest("base64")}'`;

const UNBUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tightbeam builds its pages</title></head>
<body>
<h1>Tightbeam runs, and builds its pages</h1>
<p>That takes a few seconds after the first start. The page at this address then comes by itself.</p>
<p>If this page stays, the build failed: the log of the service says why, and so does <code>npm run build</code>.</p>
<p>The API works meanwhile. <a href="/llms.txt">A short guide to it is here.</a></p>
<script>${RELOAD}</script>
</body>
</html>
`;

/** Sends the page with status 503. It comes again until the build is there. */
export function sendUnbuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .headers({ ...SECURITY_HEADERS, "Cache-Control": "no-cache", "Retry-After": "2", Refresh: "2" })
    .header("Content-Security-Policy", POLICY.replace("script-src 'self'", `script-src 'self' ${RELOAD_HASH}`))
    .type("text/html; charset=utf-8")
    .send(UNBUILT);
}

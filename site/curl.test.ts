/** The curl commands of the documentation, with an address that the service puts in after the build. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { buildDocument } from "../server/api/openapi/document.ts";
import { SERVICE_URL } from "../server/pages/service-url.ts";
import { curlOf } from "./curl.ts";

test("the address of each command is quoted, so that a shell reads an IPv6 address as it is", () => {
  for (const [path, methods] of Object.entries(buildDocument("").paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [first = ""] = curlOf(SERVICE_URL, method.toUpperCase(), path, operation).split("\n");
      const shown = first.replaceAll(SERVICE_URL, "http://[::1]:8080");
      assert.match(shown, /^curl (-X [A-Z]+ )?'http:\/\/\[::1\]:8080\/[^']*'/);
    }
  }
});

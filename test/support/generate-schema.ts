/** `npm run schema`: writes the SQL that makes the tables of both databases, for readers; the tables themselves are in `server/store/tables.ts`. */

import { writeFileSync } from "node:fs";
import { SCHEMA_FILES } from "./schema-files.ts";

for (const [file, sql] of SCHEMA_FILES) writeFileSync(file, sql);

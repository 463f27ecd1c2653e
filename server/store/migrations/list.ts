/** All migrations in order: a static list, run in process before anything else opens the database. */

import type { Migration } from "kysely/migration";
import { up as mainJob } from "./0001-main-job.ts";
import { up as wholeContract } from "./0002-whole-contract.ts";
import { up as realChannels } from "./0003-real-channels.ts";
import { up as peers } from "./0004-peers.ts";
import { up as boundedReads } from "./0005-bounded-reads.ts";
import { up as claimsByInsertion } from "./0006-claims-by-insertion.ts";
import { up as received } from "./0007-received.ts";
import { up as erasures } from "./0008-erasures.ts";
import { up as partlySent } from "./0009-partly-sent.ts";
import { up as keyPermissions } from "./0010-key-permissions.ts";
import { up as quarantine } from "./0011-quarantine.ts";
import { up as attempts } from "./0012-attempts.ts";
import { up as leasesInMemory } from "./0013-leases-in-memory.ts";
import { up as leanTables } from "./0014-lean-tables.ts";
import { up as sendAttempts } from "./0015-send-attempts.ts";
import { up as shortIndexes } from "./0016-short-indexes.ts";
import { up as heldMessages } from "./0017-held-messages.ts";
import { up as sessions } from "./0019-sessions.ts";
import { up as requests } from "./0020-requests.ts";
import { up as replays } from "./0021-replays.ts";
import { up as optOuts } from "./0022-opt-outs.ts";
import { up as phoneForms } from "./0023-phone-forms.ts";
import { up as droppedAttachments } from "./0025-dropped-attachments.ts";

export const MIGRATIONS: Record<string, Migration> = {
  "0001-main-job": { up: mainJob },
  "0002-whole-contract": { up: wholeContract },
  "0003-real-channels": { up: realChannels },
  "0004-peers": { up: peers },
  "0005-bounded-reads": { up: boundedReads },
  "0006-claims-by-insertion": { up: claimsByInsertion },
  "0007-received": { up: received },
  "0008-erasures": { up: erasures },
  "0009-partly-sent": { up: partlySent },
  "0010-key-permissions": { up: keyPermissions },
  "0011-quarantine": { up: quarantine },
  "0012-attempts": { up: attempts },
  "0013-leases-in-memory": { up: leasesInMemory },
  "0014-lean-tables": { up: leanTables },
  "0015-send-attempts": { up: sendAttempts },
  "0016-short-indexes": { up: shortIndexes },
  "0017-held-messages": { up: heldMessages },
  "0019-sessions": { up: sessions },
  "0020-requests": { up: requests },
  "0021-replays": { up: replays },
  "0022-opt-outs": { up: optOuts },
  "0023-phone-forms": { up: phoneForms },
  "0025-dropped-attachments": { up: droppedAttachments },
};

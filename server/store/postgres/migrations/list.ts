/** All migrations of PostgreSQL in order. */

import { sql } from "kysely";
import type { Migration } from "kysely/migration";
import { movePhoneKeys } from "../../migrations/move-phone-keys.ts";
import { INDEXES_0001 } from "./0001-indexes.ts";
import { PARTITIONS_0001 } from "./0001-partitions.ts";
import { QUEUES_0001 } from "./0001-queues.ts";
import { TABLES_0001 } from "./0001-tables.ts";
import { SESSIONS_0002 } from "./0002-sessions.ts";
import { REQUESTS_0003 } from "./0003-requests.ts";
import { SHORTER_LOG_0004 } from "./0004-shorter-log.ts";
import { SPLIT_TIMELINES_0005 } from "./0005-split-timelines.ts";
import { ANNOUNCED_DELIVERIES_0006 } from "./0006-announced-deliveries.ts";
import { LANE_FLOORS_0007 } from "./0007-lane-floors.ts";
import { REPLAYS_0008 } from "./0008-replays.ts";
import { OPT_OUTS_0009 } from "./0009-opt-outs.ts";
import { PHONE_FORMS_0010 } from "./0010-phone-forms.ts";
import { DROPPED_ATTACHMENTS_0012 } from "./0012-dropped-attachments.ts";

export const MIGRATIONS: Record<string, Migration> = {
  "0001": {
    async up(db) {
      for (const statement of `${TABLES_0001};${PARTITIONS_0001};${QUEUES_0001};${INDEXES_0001}`.split(";"))
        await sql.raw(statement).execute(db);
    },
  },
  "0002": {
    async up(db) {
      for (const statement of SESSIONS_0002.split(";")) await sql.raw(statement).execute(db);
    },
  },
  "0003": {
    async up(db) {
      for (const statement of REQUESTS_0003.split(";")) await sql.raw(statement).execute(db);
    },
  },
  "0004": {
    async up(db) {
      for (const statement of SHORTER_LOG_0004.split(";")) await sql.raw(statement).execute(db);
    },
  },
  "0005": {
    async up(db) {
      for (const statement of SPLIT_TIMELINES_0005.split(";")) await sql.raw(statement).execute(db);
    },
  },
  "0006": {
    async up(db) {
      await sql.raw(ANNOUNCED_DELIVERIES_0006).execute(db);
    },
  },
  "0007": {
    async up(db) {
      for (const statement of LANE_FLOORS_0007.split(";")) await sql.raw(statement).execute(db);
    },
  },
  "0008": {
    async up(db) {
      for (const statement of REPLAYS_0008.split(";")) await sql.raw(statement).execute(db);
    },
  },
  "0009": {
    async up(db) {
      for (const statement of OPT_OUTS_0009.split(";")) await sql.raw(statement).execute(db);
    },
  },
  "0010": {
    async up(db) {
      for (const statement of PHONE_FORMS_0010) await sql.raw(statement).execute(db);
      await movePhoneKeys(db);
    },
  },
  "0012": {
    async up(db) {
      for (const statement of DROPPED_ATTACHMENTS_0012.split(";")) await sql.raw(statement).execute(db);
    },
  },
};

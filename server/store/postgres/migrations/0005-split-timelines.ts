/**
 * A column for the first entry of a message's timeline (`split-timeline.ts`), and one in which a member says that it reads timelines
 * in two parts: as long as an older one is there, all write them in one.
 */

export const SPLIT_TIMELINES_0005 = `
  alter table messages add column timeline_start text collate "C";

  alter table members add column reads_split smallint`;

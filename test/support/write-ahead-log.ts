/** Reads the frames of SQLite's write-ahead log (sqlite.org/fileformat2.html#walformat), and tears logs. */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_SIZE_AT = 8;
const SALTS_AT = 16;

/** A frame of the log: one page as a transaction left it. */
interface Frame {
  from: number;
  to: number;
  /** The last frame of a transaction. */
  isCommit: boolean;
}

/** The frames of the log's present round, up to its last commit. */
export function framesOf(log: Buffer): Frame[] {
  const pageSize = log.readUInt32BE(PAGE_SIZE_AT);
  const salts = log.subarray(SALTS_AT, SALTS_AT + 8);
  const frames: Frame[] = [];
  const bytes = FRAME_HEADER_BYTES + pageSize;
  for (let from = HEADER_BYTES; from + bytes <= log.length; from += bytes) {
    // Frames of an earlier round have other salts.
    if (!log.subarray(from + 8, from + 16).equals(salts)) break;
    frames.push({ from, to: from + bytes, isCommit: log.readUInt32BE(from + 4) > 0 });
  }
  return frames.slice(0, frames.findLastIndex(({ isCommit }) => isCommit) + 1);
}

/** A log as a crash may leave it. */
export interface TornLog {
  /** How the log was torn, for messages. */
  how: string;
  log: Buffer;
  /** Every transaction that ends at or before this offset of the whole log is in it. */
  keptTo: number;
}

/** Cuts the log behind a frame, or within a frame, or flips bytes of its last frame, as `chance` decides. */
export function tear(log: Buffer, frames: readonly Frame[], chance: () => number): TornLog {
  const index = Math.floor(chance() * frames.length);
  const last = frames[index];
  if (last === undefined) throw new Error("the log has no frames");
  const { from, to } = last;
  const keptTo = (intact: readonly Frame[]) => intact.findLast(({ isCommit }) => isCommit)?.to ?? 0;
  const before = keptTo(frames.slice(0, index));
  const within = from + Math.floor(chance() * (to - from));
  switch (Math.floor(chance() * 3)) {
    case 0:
      return { how: `cut at ${to}`, log: log.subarray(0, to), keptTo: keptTo(frames.slice(0, index + 1)) };
    case 1:
      return { how: `cut at ${within}`, log: log.subarray(0, within), keptTo: before };
    default: {
      const flipped = Buffer.from(log.subarray(0, to));
      for (const at of [within, from + Math.floor(chance() * (to - from))]) flipped[at] = ~(flipped[at] ?? 0) & 0xff;
      return { how: `cut at ${to}, flipped at ${within}`, log: flipped, keptTo: before };
    }
  }
}

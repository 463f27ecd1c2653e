/** Members and their leases on PostgreSQL: a beat is one statement, and all times are by the database's clock. */

import type { Member, MemberBeat, MemberLease, MembersAfterBeat } from "../members.ts";
import type { Sql } from "./sql.ts";
import type { WriterConnections } from "./writer-connections.ts";

/** The lock of beats and of ends of members. They come one after the other, so that each sees what the one before it has left. */
const BEFORE = "select pg_advisory_xact_lock(7202, 1)";

/**
 * A beat. Its queries see the database as it was before the statement, so the beat's own member and leases are added. A lifelong lease
 * ends with its member, and no beat writes its row again: the beat that finds a member dead takes over or frees that member's leases.
 */
const BEAT = `
  with wanted as (
    select lease, state, coalesce("isLifelong", false) as is_lifelong
    from json_to_recordset($1) as given (lease text, state text, "isLifelong" boolean) order by lease
  ), beaten as (
    insert into members (id, role, url, lag_ms, beat_at) values ($2, $3, $4, 0, clock_timestamp())
    on conflict (id) do update
      set role = excluded.role, url = excluded.url, beat_at = excluded.beat_at
  ), dead as (
    delete from members where id <> $2 and beat_at < clock_timestamp() - $6 * interval '1 ms' returning id
  ), released as (
    update member_leases set until = '-infinity'
    where until <> '-infinity' and lease not in (select lease from wanted)
      and (owner = $2 or until = 'infinity' and owner = any(array(select id from dead)))
  ), kept as (
    select lease, owner, epoch, state from member_leases
    where owner = $2 and until = 'infinity' and lease in (select lease from wanted where is_lifelong)
  ), acquired as (
    insert into member_leases as its (lease, owner, epoch, until, state)
    select lease, $2, 1, case when is_lifelong then 'infinity' else clock_timestamp() + $5 * interval '1 ms' end, state
    from wanted where lease not in (select lease from kept)
    on conflict (lease) do update
      set owner = excluded.owner, until = excluded.until, state = excluded.state,
        epoch = its.epoch + case when its.owner = excluded.owner and its.until > clock_timestamp() and its.until <> 'infinity' then 0 else 1 end
      where its.owner = excluded.owner or its.until <= clock_timestamp()
        or its.until = 'infinity' and its.owner = any(array(select id from dead))
    returning lease, owner, epoch, state
  )
  select
    (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
    (
      select coalesce(json_agg(json_build_object('id', id, 'role', role, 'url', url)), '[]')
      from members where id <> $2 and beat_at >= clock_timestamp() - $6 * interval '1 ms'
    ) as others,
    (
      select $6 - extract(epoch from clock_timestamp() - min(beat_at))::float8 * 1000
      from members where id <> $2 and beat_at >= clock_timestamp() - $6 * interval '1 ms'
    ) as next_dead_ms,
    (
      select coalesce(json_agg(json_build_object('lease', lease, 'owner', owner, 'epoch', epoch, 'state', state)), '[]')
      from (
        select lease, owner, epoch, state from acquired
        union all
        select lease, owner, epoch, state from kept
        union all
        select lease, owner, epoch, state from member_leases
        where owner <> $2 and until > clock_timestamp() and lease not in (select lease from acquired)
          and not (until = 'infinity' and owner = any(array(select id from dead)))
      ) as held
    ) as leases`;

/** Runs a statement in an SQL transaction of its own, after statements without parameters. */
type Alone = Pick<WriterConnections, "alone">;

/** Beats: renews, acquires and releases leases. Returns all live members and leases. */
export async function beat(
  connections: Alone,
  { member, leases, leaseMs, deadAfterMs }: MemberBeat,
): Promise<MembersAfterBeat> {
  const { id, role, url } = member;
  const parameters = [JSON.stringify(leases), id, role, url, leaseMs, deadAfterMs];
  const [row] = await connections.alone([BEFORE], { text: BEAT, parameters });
  if (row === undefined) throw new Error("a beat returned nothing");
  const [now, others, nextDeadMs, held] = row as unknown as [number, Member[], number | null, MemberLease[]];
  return { now, nextDeadMs, members: [member, ...others], leases: held };
}

/** Removes a member: its leases are free at once. */
export async function leave(connections: Alone, id: string): Promise<void> {
  await connections.alone([BEFORE], { text: LEAVE, parameters: [id] });
}

/** Removes a member in the SQL transaction in progress. */
export async function endMember(sql: Sql, id: string): Promise<void> {
  await sql.script([BEFORE]);
  await sql.values(LEAVE, [id]);
}

const LEAVE = `
  with gone as (delete from members where id = $1)
  update member_leases set until = '-infinity' where owner = $1 and until <> '-infinity'`;

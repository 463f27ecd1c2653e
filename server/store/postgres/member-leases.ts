/** Members and their leases on PostgreSQL: a beat is one statement, and all times are by the database's clock. */

import type { MemberBeat, MemberLease, MembersAfterBeat } from "../members.ts";
import { NO_LEASE } from "./no-lease.ts";
import type { Sql } from "./sql.ts";

/**
 * `live` and `held` are as of the start of the statement, so the beat's own member and leases are added. The beat that removes a
 * dead member ends its leases of deliveries. Two members that want one free lease wait for each other at its row: the second finds
 * it held.
 */
const BEAT = `
  with wanted as (
    select lease, state from json_to_recordset($1) as given (lease text, state text) order by lease
  ), beaten as (
    insert into members (id, role, url, lag_ms, beat_at) values ($2, $3, $4, 0, clock_timestamp())
    on conflict (id) do update
      set role = excluded.role, url = excluded.url, beat_at = excluded.beat_at
  ), dead as (
    delete from members where id <> $2 and beat_at < clock_timestamp() - $6 * interval '1 ms' returning id
  ), freed as (
    update due_deliveries set ${NO_LEASE}
    where exists (select 1 from dead) and lease is not null and owner = any(array(select id from dead))
  ), released as (
    update member_leases set until = '-infinity'
    where owner = $2 and until <> '-infinity' and lease not in (select lease from wanted)
  ), acquired as (
    insert into member_leases as its (lease, owner, epoch, until, state)
    select lease, $2, 1, clock_timestamp() + $5 * interval '1 ms', state from wanted
    on conflict (lease) do update
      set owner = excluded.owner, until = excluded.until, state = excluded.state,
        epoch = its.epoch + case when its.owner = excluded.owner and its.until > clock_timestamp() then 0 else 1 end
      where its.owner = excluded.owner or its.until <= clock_timestamp()
    returning lease, owner, epoch, state
  )
  select
    (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
    (
      select coalesce(json_agg(json_build_object('id', id, 'role', role, 'url', url)), '[]')
      from members where id <> $2 and beat_at >= clock_timestamp() - $6 * interval '1 ms'
    ) as others,
    (
      select coalesce(json_agg(json_build_object('lease', lease, 'owner', owner, 'epoch', epoch, 'state', state)), '[]')
      from (
        select lease, owner, epoch, state from acquired
        union all
        select lease, owner, epoch, state from member_leases
        where owner <> $2 and until > clock_timestamp() and lease not in (select lease from acquired)
      ) as held
    ) as leases`;

interface AfterBeatRow {
  now: number;
  others: MembersAfterBeat["members"];
  leases: MemberLease[];
}

/** All live members and leases. */
export async function beat(sql: Sql, { member, leases, leaseMs, deadAfterMs }: MemberBeat): Promise<MembersAfterBeat> {
  const { id, role, url } = member;
  const wanted = JSON.stringify(leases);
  const [row] = await sql.query<AfterBeatRow>(BEAT, [wanted, id, role, url, leaseMs, deadAfterMs]);
  if (row === undefined) throw new Error("a beat returned nothing");
  return { now: row.now, members: [member, ...row.others], leases: row.leases };
}

/** Removes a member: its leases are free at once. */
export async function leave(sql: Sql, id: string): Promise<void> {
  await sql.values(
    `with gone as (delete from members where id = $1)
    update member_leases set until = '-infinity' where owner = $1 and until <> '-infinity'`,
    [id],
  );
}

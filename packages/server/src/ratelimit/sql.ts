import { sql } from '../platform/db/connection.ts'

/** Subjects, one array for each of their parts. */
const subjects = `unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[])`

/**
 * Locks row by row in the given order. Every process uses the same order, so that no two processes wait for each other in a
 * circle.
 */
export const lockCounters = sql(
  'ratelimit.lock',
  `select u.nth, c.ctid::text as place, c.cells
   from ${subjects} with ordinality u(w, p, e, k, s, nth)
   join rate_counters c on c.workspace_id = u.w and c.project_id = u.p and c.env = u.e and c.kind = u.k and c.subject_id = u.s
   order by u.nth
   for update of c`,
)

/** A statement after the locks: a transaction that has waited for a lock must not use the time from before. */
export const readTime = sql(
  'ratelimit.time',
  `select (extract(epoch from service_now()) * 1000)::bigint as now`,
)

export const openCounters = sql(
  'ratelimit.open',
  `insert into rate_counters (workspace_id, project_id, env, kind, subject_id, cells, expires_at)
   select u.w, u.p, u.e, u.k, u.s, '[]', service_now() + interval '1 hour'
   from ${subjects} u(w, p, e, k, s)
   on conflict (workspace_id, project_id, env, kind, subject_id) do nothing`,
)

/**
 * Finds the rows by their physical positions, which cannot change while they are locked. Without `is true` Postgres would
 * search for them among all rows of the workspace, as long as it has no statistics of the table.
 */
export const writeCounters = sql(
  'ratelimit.write',
  `update rate_counters c set cells = u.cells, expires_at = u.ends
   from unnest($1::tid[], $2::uuid[], $3::text[], $4::timestamptz[]) u(place, w, cells, ends)
   where c.ctid = u.place and (c.workspace_id = u.w) is true
   returning true as written`,
)

export const removeCounters = sql(
  'ratelimit.prune',
  `delete from rate_counters where (workspace_id, project_id, env, kind, subject_id) in (
     select workspace_id, project_id, env, kind, subject_id from rate_counters
     where expires_at < service_now() order by expires_at limit $1 for update skip locked)`,
)

/** Counts by the index alone, and stops at the last parameter. */
export const countOfProject = sql(
  'ratelimit.count_of_project',
  `select count(*)::int as rows from
     (select from rate_counters where workspace_id = $1 and env = $2 and project_id = $3 limit $4) c`,
)

/** As `countOfProject`, for all projects of an environment, also invented ones. */
export const countAll = sql(
  'ratelimit.count_all',
  `select count(*)::int as rows from
     (select from rate_counters where workspace_id = $1 and env = $2 limit $3) c`,
)

/**
 * Whether the project of a row exists, and the row's key or tenant. A row of checks without key or tenant needs only the
 * project.
 */
const isReal = `(
  exists (select from projects p where p.workspace_id = c.workspace_id and p.id = c.project_id and p.deleted_at is null)
  and case c.kind
    when 'key' then exists (select from api_keys k where k.workspace_id = c.workspace_id and k.id = c.subject_id
      and k.project_id = c.project_id and k.env = c.env)
    when 'tenant' then exists (select from tenants t where t.workspace_id = c.workspace_id and t.id = c.subject_id)
    else true
  end)`

/** Rows of one project, or with null of all projects, that belong to no key and no tenant; the rows that end first. */
export const findInvented = sql(
  'ratelimit.find_invented',
  `select c.project_id, c.kind, c.subject_id from rate_counters c
   where c.workspace_id = $1 and c.env = $2 and ($3::uuid is null or c.project_id = $3) and not ${isReal}
   order by c.expires_at, c.ctid limit $4`,
)

/** Deletes the found rows that are still invented. Rows that a check has locked are skipped. */
export const removeInvented = sql(
  'ratelimit.remove_invented',
  `delete from rate_counters where (workspace_id, project_id, env, kind, subject_id) in (
     select c.workspace_id, c.project_id, c.env, c.kind, c.subject_id
     from ${subjects} u(w, p, e, k, s)
     join rate_counters c on c.workspace_id = u.w and c.project_id = u.p and c.env = u.e and c.kind = u.k and c.subject_id = u.s
     where not ${isReal}
     for update of c skip locked)`,
)

/** For subjects whose counters are in Redis. @returns the places of the invented ones. */
export const pickInvented = sql(
  'ratelimit.pick_invented',
  `select c.nth from ${subjects} with ordinality c(workspace_id, project_id, env, kind, subject_id, nth)
   where not ${isReal}`,
)

/**
 * The workspaces that have the same first owner as the given one, and how many projects they have. A workspace without an owner
 * is alone.
 */
export const findPaidTogether = sql(
  'ratelimit.find_paid_together',
  `with payer as (
     select user_id from workspace_members where workspace_id = $1 and role = 'owner' and removed_at is null
     order by joined_at, user_id limit 1
   ), paid as (
     select $1::uuid as workspace_id union
     select m.workspace_id from payer p join workspace_members m on m.user_id = p.user_id
     where m.role = 'owner' and m.removed_at is null and not exists (
       select from workspace_members o where o.workspace_id = m.workspace_id and o.role = 'owner' and o.removed_at is null
         and (o.joined_at, o.user_id) < (m.joined_at, m.user_id))
     limit $2
   )
   select array(select workspace_id::text from paid) as workspace_ids,
     (select count(*)::int from projects p join paid using (workspace_id) where p.deleted_at is null) as projects`,
)

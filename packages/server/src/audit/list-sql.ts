import type { Env } from '@keyrail/contract/shared'
import { type AuditAction, auditActions } from '@keyrail/contract/vendor/audit'
import { type Statement, sql } from '../platform/db/connection.ts'
import { readInOrder } from '../platform/db/pool/read-in-order.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import type { Listed } from '../platform/paging/listed.ts'
import { type AuditRow, columns, isOfTest, isTestTarget, who, whoWithheld } from './sql.ts'

export interface AuditFilter {
  reach: 'test' | 'both'
  order: 'asc' | 'desc'
  /** Only rows beyond this seq, in the order. */
  beyond: number
  limit: number
  /** Null: no filter. */
  action: AuditAction | null
  actorId: string | null
  targetId: string | null
  env: Env | null
  /** Only rows of this time and later; null: from the first. */
  from: Date | null
  /** Only rows before this time; null: to the last. */
  before: Date | null
}

/** As in the indexes: with COALESCE, which row-level security does not trust, Postgres would not use them. */
const envKey = `case when l.env is null then '' else l.env end`

/** The parts of a statement that follow from the order and from what the caller sees. */
interface Shape {
  /** Seq and environment of a row `l` of the workspace. */
  readonly isWanted: string
  readonly inOrder: string
  /** Who acted, by name. */
  readonly actor: string
  /** What comes before the SELECT. */
  readonly head: string
}

/**
 * The names of the actors, each a look-up by primary key. An embed token is not stored, but changes only keys of its tenant, so
 * the changed key leads to the tenant.
 */
const actor = `${who},
  (select json_build_object('name', k.name, 'display_prefix', k.display_prefix) from secret_keys k
   where k.workspace_id = l.workspace_id
     and k.id = case when l.actor_type = 'secret_key' and l.actor_id ~ '^[0-9a-f-]{36}$' then l.actor_id::uuid end) as secret_key,
  (select json_build_object('id', t.id, 'external_id', t.external_id, 'name', t.name)
   from api_keys k join tenants t on t.workspace_id = k.workspace_id and t.id = k.tenant_id
   where k.workspace_id = l.workspace_id
     and k.id = case when l.actor_type = 'embed_token' and l.target_type = 'api_key' then l.target_id end) as tenant`
const actorWithheld = `${whoWithheld}, null::json as secret_key, null::json as tenant`

/** Every row, by the primary key or, for a test credential, by `audit_logs_of_test`. */
const byNothing = ({ head, isWanted, inOrder, actor }: Shape) =>
  `${head}select ${columns}, ${actor} from audit_logs l
   where l.workspace_id = $1 and ${isWanted} ${inOrder} limit $3`

/** A target has few rows, so all further filters are tried on each row. */
const byTarget = ({ head, isWanted, inOrder, actor }: Shape) =>
  `${head}select ${columns}, ${actor} from audit_logs l
   where l.workspace_id = $1 and l.target_id = $7 and ${isWanted} and l.action = any($4::text[])
     and ${envKey} = any($5::text[]) and ($6::text is null or l.actor_id = $6) ${inOrder} limit $3`

/**
 * Reads each pair of action and environment in its own part of the index, where the rows are in order, and merges the parts. So
 * every combination of filters reads at most a page of each pair, and a filter that names both reads one pair.
 */
const byPairs =
  (condition: string) =>
  ({ head, isWanted, inOrder, actor }: Shape) =>
    `${head}select ${columns}, ${actor} from (
     select found.* from unnest($4::text[]) a(action) cross join unnest($5::text[]) e(env) cross join lateral (
       select l.* from audit_logs l where l.workspace_id = $1 and l.action = a.action and ${envKey} = e.env
         ${condition} and ${isWanted} ${inOrder} limit $3) found
   ) l ${inOrder} limit $3`

const forms = {
  all: byNothing,
  target: byTarget,
  pairs: byPairs(''),
  actor: byPairs('and l.actor_id = $6'),
}

/** How many parameters each form has before the two times. */
const parameters = { all: 3, target: 7, pairs: 5, actor: 6 } as const

/**
 * How far the time of a row may be behind the time of an earlier row. A row's time is from the clock of the process that made
 * the change, at the beginning of the change; its place is from its commit.
 */
const behindMost = `interval '1 minute'`

/**
 * Finds a place in the log by binary search, about twenty rows of a million, so that no change has to write an index by time:
 * at `low`, and so before it, every row has an earlier time. A missing row counts as the row before it. OFFSET 0 keeps the
 * division out of the condition: the division may raise an error, so row-level security would try it on each row instead of
 * using the index.
 */
const placeOf = (name: string, time: string) => `${name} (low, high) as (
     select 0::bigint, coalesce((select s.seq + 1 from audit_logs s where s.workspace_id = $1 order by s.seq desc limit 1), 1)
     union all
     select case when m.is_before then m.seq else p.low end, case when m.is_before then p.high else m.seq end
     from ${name} p cross join lateral (
       select h.seq, coalesce((select s.created_at < ${time} from audit_logs s
         where s.workspace_id = $1 and s.seq <= h.seq order by s.seq desc limit 1), true) as is_before
       from (select (p.low + p.high) / 2 as seq offset 0) h) m
     where p.high - p.low > 1)`

/**
 * Narrows a statement to the times in its last two parameters: first to a part of the log that has all matching rows, then row
 * by row.
 */
function dated(form: keyof typeof forms): { head: string; isDated: string } {
  const [from, before] = [parameters[form] + 1, parameters[form] + 2].map(at => `$${at}::timestamptz`)
  return {
    head: `with recursive ${placeOf('first', `${from} - ${behindMost}`)}, ${placeOf('last', `${before} + ${behindMost}`)}
     `,
    isDated: ` and l.seq > (select max(low) from first) and l.seq < (select min(high) from last)
       and l.created_at >= ${from} and l.created_at < ${before}`,
  }
}

const listStatements = new Map<string, Statement>()
function listStatement(
  form: keyof typeof forms,
  order: 'asc' | 'desc',
  reach: 'test' | 'both',
  isDated: boolean,
): Statement {
  const name = `audit.list.${form}.${order}.${reach}${isDated ? '.dated' : ''}`
  let statement = listStatements.get(name)
  if (statement === undefined) {
    const times = isDated ? dated(form) : { head: '', isDated: '' }
    const beyond = `${order === 'asc' ? 'l.seq > $2' : 'l.seq < $2'}${times.isDated}`
    // The filters' own values exclude live. Another condition on env would lead Postgres to use `audit_logs_of_test`.
    const isSeen = form === 'all' ? isOfTest : isTestTarget
    const text = forms[form]({
      head: times.head,
      isWanted: reach === 'test' ? `${beyond} and ${isSeen}` : beyond,
      inOrder: order === 'asc' ? 'order by l.seq' : 'order by l.seq desc',
      actor: reach === 'test' ? actorWithheld : actor,
    })
    statement = sql(name, text)
    listStatements.set(name, statement)
  }
  return statement
}

/** The values of the index for each environment that the filter allows; rows without an environment have ''. */
const envsOf = ({ env, reach }: AuditFilter): string[] => {
  if (env !== null) return [env]
  return reach === 'test' ? ['test', ''] : ['live', 'test', '']
}

/** In the order of the filter, one row more than the limit. An action that this release does not know matches no filter. */
export function listAuditRows(tx: ReadTx, filter: AuditFilter): Promise<Listed<AuditRow>> {
  const { reach, order, beyond, limit, action, actorId, targetId, env, from, before } = filter
  const most = limit + 1
  const times = from === null && before === null ? [] : [from ?? '-infinity', before ?? 'infinity']
  const list = (form: keyof typeof forms, ...filters: unknown[]) => {
    const statement = listStatement(form, order, reach, times.length > 0)
    return tx.list<AuditRow>(statement, [tx.workspaceId, beyond, most, ...filters, ...times], { most })
  }
  const pairs = [action === null ? auditActions : [action], envsOf(filter)]
  tx.send(readInOrder)
  if (targetId !== null) return list('target', ...pairs, actorId, targetId)
  if (actorId !== null) return list('actor', ...pairs, actorId)
  if (action !== null || env !== null) return list('pairs', ...pairs)
  return list('all')
}

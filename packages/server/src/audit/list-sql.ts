import type { Env } from '@keyrail/contract/shared'
import { type AuditAction, auditActions } from '@keyrail/contract/vendor/audit'
import { type Statement, sql } from '../platform/db/connection.ts'
import { readInOrder } from '../platform/db/read-in-order.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import type { Listed } from '../platform/listed.ts'
import { type AuditRow, columns, isOfTest, isTestTarget, person } from './sql.ts'

export interface AuditFilter {
  reach: 'test' | 'both'
  order: 'asc' | 'desc'
  /** Only rows beyond this seq, in the order. */
  beyond: number
  limit: number
  /** Null: any. */
  action: AuditAction | null
  actorId: string | null
  targetId: string | null
  env: Env | null
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
}

/**
 * The names of who acted, each a look-up by primary key. An embed token is not stored, and it changes keys of its tenant
 * alone, so the changed key leads to the tenant.
 */
const actor = `${person},
  (select json_build_object('name', k.name, 'display_prefix', k.display_prefix) from secret_keys k
   where k.workspace_id = l.workspace_id
     and k.id = case when l.actor_type = 'secret_key' and l.actor_id ~ '^[0-9a-f-]{36}$' then l.actor_id::uuid end) as secret_key,
  (select json_build_object('id', t.id, 'external_id', t.external_id, 'name', t.name)
   from api_keys k join tenants t on t.workspace_id = k.workspace_id and t.id = k.tenant_id
   where k.workspace_id = l.workspace_id
     and k.id = case when l.actor_type = 'embed_token' and l.target_type = 'api_key' then l.target_id end) as tenant`
const actorWithheld = 'null::json as person, null::json as secret_key, null::json as tenant'

/** Every row, by the primary key or, for a test credential, by `audit_logs_of_test`. */
const byNothing = ({ isWanted, inOrder, actor }: Shape) =>
  `select ${columns}, ${actor} from audit_logs l
   where l.workspace_id = $1 and ${isWanted} ${inOrder} limit $3`

/** A target has few rows, so the other filters are tried on each. */
const byTarget = ({ isWanted, inOrder, actor }: Shape) =>
  `select ${columns}, ${actor} from audit_logs l
   where l.workspace_id = $1 and l.target_id = $7 and ${isWanted} and l.action = any($4::text[])
     and ${envKey} = any($5::text[]) and ($6::text is null or l.actor_id = $6) ${inOrder} limit $3`

/**
 * Reads each pair of action and environment in its own part of the index, where the rows are in order, and merges these.
 * So every filter, alone or with others, reads at most a page of each pair, and a filter that names both reads one.
 */
const byPairs =
  (condition: string) =>
  ({ isWanted, inOrder, actor }: Shape) =>
    `select ${columns}, ${actor} from (
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

const listStatements = new Map<string, Statement>()
function listStatement(form: keyof typeof forms, order: 'asc' | 'desc', reach: 'test' | 'both'): Statement {
  const name = `audit.list.${form}.${order}.${reach}`
  let statement = listStatements.get(name)
  if (statement === undefined) {
    const beyond = order === 'asc' ? 'l.seq > $2' : 'l.seq < $2'
    // The filters' own values leave out live. Another condition on env would offer Postgres `audit_logs_of_test`.
    const isSeen = form === 'all' ? isOfTest : isTestTarget
    const text = forms[form]({
      isWanted: reach === 'test' ? `${beyond} and ${isSeen}` : beyond,
      inOrder: order === 'asc' ? 'order by l.seq' : 'order by l.seq desc',
      actor: reach === 'test' ? actorWithheld : actor,
    })
    statement = sql(name, text)
    listStatements.set(name, statement)
  }
  return statement
}

/** The values of the index for each environment that the filter leaves; rows without one are ''. */
const envsOf = ({ env, reach }: AuditFilter): string[] => {
  if (env !== null) return [env]
  return reach === 'test' ? ['test', ''] : ['live', 'test', '']
}

/** In the order of the filter, one row more than the limit. An action that this release does not know matches no filter. */
export function listAuditRows(tx: ReadTx, filter: AuditFilter): Promise<Listed<AuditRow>> {
  const { reach, order, beyond, limit, action, actorId, targetId, env } = filter
  const most = limit + 1
  const list = (form: keyof typeof forms, ...filters: unknown[]) =>
    tx.list<AuditRow>(listStatement(form, order, reach), [tx.workspaceId, beyond, most, ...filters], { most })
  const pairs = [action === null ? auditActions : [action], envsOf(filter)]
  tx.send(readInOrder)
  if (targetId !== null) return list('target', ...pairs, actorId, targetId)
  if (actorId !== null) return list('actor', ...pairs, actorId)
  if (action !== null || env !== null) return list('pairs', ...pairs)
  return list('all')
}

import type { Harness } from './harness.ts'

type Query = Harness['query']

/** Security events that the service writes some time after the request, so two dumps could not be compared. */
const noted = `('sign_in_failed', 'reset_requested', 'permission_refused', 'address_refused', 'throttled',
  'workspace_entered')`

/**
 * Reads every row of every table in a stable order, so that two dumps can be compared. It leaves out
 * `last_used_at` of secret keys and `last_seen_at` of sessions, because the gate writes them for any request
 * with a valid credential, the counts of requests, which it writes once a minute, and when upkeep verified a chain. It also leaves
 * out security events of refused requests unless `withNoted` is set: flush them first.
 */
export async function dump(
  query: Query,
  { withNoted = false }: { withNoted?: boolean } = {},
): Promise<Record<string, unknown[]>> {
  const tables = await tablesOf(query)
  const rows = await query(
    `${tables.map(table => rowsOf(table, withNoted)).join(' union all ')} order by 1, 2`,
  )
  const dumped: Record<string, unknown[]> = Object.fromEntries(tables.map(table => [table, []]))
  for (const { table, row } of rows) dumped[table]?.push(row)
  return dumped
}

const rowsOf = (table: string, withNoted: boolean) =>
  `select '${table}' as table,
     to_jsonb(t) - array['last_used_at', 'last_seen_at', 'verified_at', 'verification_due_at'] as row from ${table} t
   ${conditionOf(table, withNoted)}`

function conditionOf(table: string, withNoted: boolean): string {
  if (table === 'workspace_loads') return 'where false'
  return table === 'security_events' && !withNoted ? `where kind not in ${noted}` : ''
}

export const tablesOf = async (query: Query): Promise<string[]> =>
  (
    await query(`select relname from pg_class where relkind in ('r', 'p')
      and relnamespace = 'public'::regnamespace order by relname`)
  ).map(({ relname }) => relname)

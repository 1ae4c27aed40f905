import type { Harness } from './harness.ts'

type Query = Harness['query']

/** What is folded and written a moment after its request, so that no two moments could be compared. */
const noted = `('sign_in_failed', 'reset_requested', 'permission_refused', 'address_refused', 'throttled',
  'workspace_entered')`

/**
 * Every row of every table, in a stable order, so that two moments can be compared. `last_used_at` of secret
 * keys and `last_seen_at` of sessions are left out: the gate notes them for any request with a valid credential, refused
 * later or not. So are security events of what was refused, unless they are asked for: flush them first.
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
  `select '${table}' as table, to_jsonb(t) - 'last_used_at' - 'last_seen_at' as row from ${table} t
   ${table === 'security_events' && !withNoted ? `where kind not in ${noted}` : ''}`

export const tablesOf = async (query: Query): Promise<string[]> =>
  (
    await query(`select relname from pg_class where relkind in ('r', 'p')
      and relnamespace = 'public'::regnamespace order by relname`)
  ).map(({ relname }) => relname)

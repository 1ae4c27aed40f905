import { after } from 'node:test'
import pg from 'pg'
import type { Harness } from './harness.ts'

/** The rows that a transaction may see. A null id stays unset, as on a connection that never set it. */
interface AppScope {
  workspaceId?: string | null
  userId?: string | null
}

interface Outcome {
  code?: string
  count?: number
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, read by the test that asked for them.
  rows?: any[]
}

export type AsApp = (scope: AppScope, text: string, values?: unknown[]) => Promise<Outcome>

/** Runs a statement in a request's role and scope, then rolls it back. */
export async function openAsApp({ connection }: Harness): Promise<AsApp> {
  const used = new pg.Client(connection)
  // The database may be dropped before this connection closes.
  used.on('error', () => {})
  await used.connect()
  after(() => used.end())
  return async ({ workspaceId = null, userId = null }, text, values = []) => {
    const isUnset = workspaceId === null && userId === null
    const client = isUnset ? new pg.Client(connection) : used
    if (isUnset) await client.connect()
    try {
      await client.query('begin')
      await client.query('set local role keyrail_app')
      for (const [name, id] of Object.entries({ workspace_id: workspaceId, user_id: userId }))
        if (id !== null) await client.query('select set_config($1, $2, true)', [`app.${name}`, id])
      const { rowCount, rows } = await client.query(text, values)
      return { count: rowCount ?? 0, rows }
    } catch (error) {
      return { code: (error as { code: string }).code }
    } finally {
      await client.query('rollback')
      if (isUnset) await client.end()
    }
  }
}

import { after } from 'node:test'
import pg from 'pg'
import type { Statement } from '../src/platform/db/connection.ts'
import type { Harness } from './harness.ts'

/** What Postgres does for one statement. */
export interface Work {
  /** The rows that it reads from tables, found or thrown away. */
  rows: number
  /** The indexes that it reads. */
  indexes: string[]
  plan: string
}

interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

/**
 * Executes a prepared statement as a request does, in the role that owns nothing, and counts the rows that it reads.
 * @param mode `custom` plans for the values, `generic` for any values, as Postgres may do after some executions.
 */
export async function openStatementWork({ connection }: Pick<Harness, 'connection'>) {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  after(() => client.end())
  return async (
    workspaceId: string,
    mode: 'custom' | 'generic',
    { text }: Statement,
    values: readonly unknown[],
  ): Promise<Work> => {
    await client.query('begin')
    try {
      await client.query(`set local plan_cache_mode = force_${mode}_plan`)
      await client.query('set local role keyrail_app')
      await client.query(`select set_config('app.workspace_id', $1, true)`, [workspaceId])
      await client.query(`prepare counted as ${text}`)
      const literals = values.map(value => literalOf(value)).join(', ')
      const { rows } = await client.query(`explain (analyze, format json) execute counted(${literals})`)
      const root = rows[0]['QUERY PLAN'][0].Plan as PlanNode
      const nodes = nodesOf(root)
      const scans = nodes.filter(node => node['Relation Name'] !== undefined)
      return {
        rows: scans.reduce((sum, node) => sum + readBy(node), 0),
        indexes: nodes.flatMap(node => node['Index Name'] ?? []),
        plan: JSON.stringify(root, null, 1),
      }
    } finally {
      await client.query('rollback')
      await client.query('deallocate all')
    }
  }
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const readBy = (node: PlanNode): number =>
  node['Actual Loops'] *
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0))

function literalOf(value: unknown): string {
  if (value === null) return 'null'
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.join()}}`)
  return pg.escapeLiteral(String(value))
}

import type { Env } from '@keyrail/contract/shared'
import { type Named, type Noun, readNamed } from '../../api/names.ts'
import { pagesOf } from '../../api/read-all.ts'
import { csvOf } from './csv.ts'
import { listMonth } from './month-rows.ts'

interface Options {
  readonly signal: AbortSignal
  /** Takes the number of rows that are there so far. */
  readonly onRows: (rows: number) => void
}

const header = [
  'month',
  'tenant_id',
  'your_id',
  'tenant',
  'project_id',
  'project',
  'env',
  'requests',
  'estimated',
]

/** All rows of a month as CSV: page after page, each with the names that are new in it. */
export async function readMonth(query: { month: string; env: Env }, { signal, onRows }: Options) {
  const tenantsOf = namer('tenants', signal)
  const projectsOf = namer('projects', signal)
  const lines: (string | number)[][] = []
  for await (const rows of pagesOf(cursor => listMonth({ query: { ...query, cursor } }, { signal }))) {
    const tenants = await tenantsOf(rows.map(({ tenant_id }) => tenant_id))
    const projects = await projectsOf(rows.map(({ project_id }) => project_id))
    for (const { month, tenant_id, project_id, env, request_count, estimated } of rows)
      lines.push([
        month.slice(0, 7),
        tenant_id,
        tenants.get(tenant_id)?.yourId ?? '',
        tenants.get(tenant_id)?.name ?? '',
        project_id,
        projects.get(project_id)?.name ?? '',
        env,
        request_count,
        String(estimated),
      ])
    onRows(lines.length)
  }
  return { text: csvOf([header, ...lines]), rows: lines.length }
}

/** Reads each of them once. */
function namer(noun: Noun, signal: AbortSignal) {
  const known = new Map<string, Named>()
  const asked = new Set<string>()
  return async (ids: readonly string[]): Promise<ReadonlyMap<string, Named>> => {
    const missing = [...new Set(ids)].filter(id => !asked.has(id))
    for (const [id, named] of await readNamed(noun, missing, { signal })) known.set(id, named)
    for (const id of missing) asked.add(id)
    return known
  }
}

import { listProjects } from './projects.ts'
import { listTenants } from './tenants.ts'

/** What an id may name. */
export type Noun = 'projects' | 'tenants'

/** How many names the service reads at once. */
export const namesMost = 50

interface Named {
  readonly id: string
  readonly name: string
}

type ReadNames = (ids: readonly string[], options?: { signal?: AbortSignal }) => Promise<readonly Named[]>

const limit = namesMost
const reads: Record<Noun, ReadNames> = {
  projects: async (ids, options) => (await listProjects({ query: { ids: [...ids], limit } }, options)).data,
  tenants: async (ids, options) => {
    const { data } = await listTenants({ query: { ids: [...ids], limit } }, options)
    return data.map(({ id, name, external_id }) => ({ id, name: name ?? external_id }))
  },
}

/** The names of these projects or tenants. What does not exist any more has none. */
export async function readNames(
  noun: Noun,
  ids: readonly string[],
  options?: { signal?: AbortSignal },
): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (let at = 0; at < ids.length; at += namesMost) {
    for (const { id, name } of await reads[noun](ids.slice(at, at + namesMost), options)) names.set(id, name)
  }
  return names
}

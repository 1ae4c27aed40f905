import { listProjects } from './projects.ts'
import { listTenants } from './tenants.ts'

/** The kinds of resources that have names. */
export type Noun = 'projects' | 'tenants'

/** The most names that the service returns at once. */
export const namesMost = 50

export interface Named {
  readonly id: string
  readonly name: string
  /** The vendor's own id of a tenant. */
  readonly yourId?: string
  /** Whether all keys of a tenant are refused. */
  readonly isSuspended?: boolean
}

type ReadNames = (ids: readonly string[], options?: { signal?: AbortSignal }) => Promise<readonly Named[]>

const limit = namesMost
const reads: Record<Noun, ReadNames> = {
  projects: async (ids, options) => (await listProjects({ query: { ids: [...ids], limit } }, options)).data,
  tenants: async (ids, options) => {
    const { data } = await listTenants({ query: { ids: [...ids], limit } }, options)
    return data.map(({ id, name, external_id, suspended_at }) => ({
      id,
      name: name ?? external_id,
      yourId: external_id,
      // A service that is older than the page sends no `suspended_at`.
      isSuspended: Boolean(suspended_at),
    }))
  },
}

/** Reads the projects or tenants with these ids. The answer lacks those that no longer exist. */
export async function readNamed(
  noun: Noun,
  ids: readonly string[],
  options?: { signal?: AbortSignal },
): Promise<Map<string, Named>> {
  const found = new Map<string, Named>()
  for (let at = 0; at < ids.length; at += namesMost) {
    for (const each of await reads[noun](ids.slice(at, at + namesMost), options)) found.set(each.id, each)
  }
  return found
}

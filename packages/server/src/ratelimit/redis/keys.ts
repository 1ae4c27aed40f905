import type { Subject } from '../subject.ts'
import type { Link } from './link.ts'
import type { RedisNode } from './node.ts'

/** Walks over the keys of counters, in steps that block a server for less than a millisecond. */
const keysAtOnce = 1_000

/** Visits the keys of a pattern on every server. @param visit returns false to stop the walk. */
export async function walkKeys(
  link: Pick<Link, 'masters'>,
  pattern: string,
  visit: (keys: string[], node: RedisNode) => Promise<boolean>,
): Promise<void> {
  for (const node of await link.masters()) {
    let cursor = '0'
    do {
      const answer = await node.ask('SCAN', cursor, 'MATCH', pattern, 'COUNT', `${keysAtOnce}`)
      const [next, keys] = answer as [string, string[]]
      cursor = next
      if (keys.length > 0 && !(await visit(keys, node))) return
    } while (cursor !== '0')
  }
}

const form =
  /^keyrail:\{([0-9a-f-]{36}):([0-9a-f-]{36}):(live|test)\}:(key|tenant|no_key|no_tenant):([0-9a-f-]{36})$/

/** The subject whose counters a key holds; null: the key holds no counters. */
export function subjectOfKey(key: string): Subject | null {
  const [, workspaceId = '', projectId = '', env, kind, id = ''] = form.exec(key) ?? []
  if (env === undefined) return null
  return { workspaceId, projectId, env: env as Subject['env'], kind: kind as Subject['kind'], id }
}

/** The pattern of keys with the sums of whole environments, which are shorter than keys with sums of projects. */
const wholes = `keyrail:{${'?'.repeat(36)}:????}:held`

/** Finds the environments of workspaces that hold most, on all servers. @returns their tags, the largest first. */
export async function findWholes(link: Pick<Link, 'masters'>, most: number): Promise<string[]> {
  let largest: [tag: string, units: number][] = []
  await walkKeys(link, wholes, async (keys, node) => {
    const sums = await Promise.all(keys.map(key => node.ask('HGET', key, 'all').catch(() => 0)))
    const found = keys.map((key, i): [string, number] => [key.slice(0, -':held'.length), Number(sums[i])])
    largest = [...largest, ...found].toSorted((a, b) => b[1] - a[1]).slice(0, most)
    return true
  })
  return largest.map(([tag]) => tag)
}

/** Deletes all counters of a workspace. @returns how many keys there were. */
export async function clearWorkspace(link: Pick<Link, 'masters'>, workspaceId: string): Promise<number> {
  let cleared = 0
  await walkKeys(link, `keyrail:{${workspaceId}:*`, async (keys, node) => {
    // The keys of one call must share a slot, so they are deleted one by one.
    const gone = await Promise.all(keys.map(key => node.ask('UNLINK', key)))
    cleared += gone.reduce((sum: number, one) => sum + Number(one), 0)
    return true
  })
  return cleared
}

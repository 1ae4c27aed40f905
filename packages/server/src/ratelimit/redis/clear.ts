import { clearWorkspace } from './keys.ts'
import { openLink } from './link.ts'
import { seedsOf } from './seeds.ts'

/**
 * Deletes all counters of a workspace from the Redis that a setting names.
 * @returns how many keys there were.
 * @throws when Redis cannot be reached.
 */
export async function clearRedis(setting: string, workspaceId: string): Promise<number> {
  const silent = { failed() {}, answered() {}, forget() {} }
  const link = await openLink(seedsOf(setting), silent)
  try {
    return await clearWorkspace(link, workspaceId)
  } finally {
    link.close()
  }
}

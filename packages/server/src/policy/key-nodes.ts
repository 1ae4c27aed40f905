import type { Env } from '@keyrail/contract/shared'
import type { NodesOfKey } from '@keyrail/contract/vendor/explain'
import type { ReadTx } from '../platform/db/transaction.ts'
import { iso } from '../platform/time.ts'
import { nodesOfKey } from './nodes-sql.ts'

/** Nodes that are named. */
const behindMost = 50

interface Row extends Omit<NodesOfKey, 'behind'> {
  behind: { node: string; version: number; seen_at: string }[] | null
}

/** The live nodes of an environment, and which of them lack the last change of a key. */
export async function readNodesOfKey(
  tx: ReadTx,
  { projectId, env, keyId, tenantId }: { projectId: string; env: Env; keyId: string; tenantId: string },
): Promise<NodesOfKey> {
  const [row] = await tx.query<Row>(nodesOfKey, [tx.workspaceId, projectId, env, keyId, tenantId])
  const { live = 0, current = 0, behind, full = 0, version = 0 } = row ?? {}
  return {
    live,
    current,
    behind: (behind ?? []).slice(0, behindMost).map(({ node, version, seen_at }) => ({
      node,
      version,
      seen_at: iso(new Date(seen_at)),
    })),
    full,
    version,
  }
}

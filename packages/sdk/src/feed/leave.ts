import type { FeedClient } from './client.ts'
import { feedQuery } from './query.ts'
import { holding } from './quota.ts'
import type { SyncSettings } from './sync-deps.ts'

/** A process that stops waits no longer than this for a service that hangs. */
const LEAVE_TIMEOUT_MS = 1_000

/**
 * Tells the service that this node has stopped and refuses every key, so that no revocation waits for it. If that fails, the
 * node counts as live for 90 s, as one that was killed.
 *
 * @param version the last version that the node held
 */
export async function leave(client: FeedClient, settings: SyncSettings, version: number): Promise<void> {
  const query = feedQuery(settings, holding(settings, undefined), { since: String(version), leaving: 'true' })
  const { signal } = new AbortController()
  const asked = { path: '/v1/policy/delta', query, timeoutMs: LEAVE_TIMEOUT_MS, signal } as const
  await client(asked).catch(() => {})
}

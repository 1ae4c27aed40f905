import type { Clock } from '../runtime/clock.ts'
import { PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import { Store } from '../store/store.ts'
import type { Snapshot } from './body.ts'
import type { Unreadable } from './record.ts'
import { makeRoom, type Room } from './room.ts'
import { WalkGuard } from './walk-guard.ts'

/** Between the starts of two pages: what a service gone wrong can make a node do. A page of 5,000 keys takes longer. */
const PAGE_FLOOR_MS = 20

export interface WalkDeps {
  next: (cursor: string) => Promise<Snapshot>
  clock: Pick<Clock, 'monotonic'>
  room: Room
  hasLabels: boolean
  /** What is served, and whether it ever was: a store that an earlier process left too long ago never was. */
  held: Store | undefined
  hasServed: boolean
  /** Whether a key with this digest is known to have ended. */
  isEnded: (digest: string) => boolean
  signal: AbortSignal
}

export interface Walked {
  store: Store
  /** Digests of keys that had ended, and are told of again. */
  renewed: string[]
  /** Keys that the pages tell of in a way that cannot be read. */
  unreadable: Unreadable[]
  /** What every page told beyond keys. */
  features: readonly string[]
  last: Snapshot
}

/**
 * Takes in the pages of a walk beside what is served.
 *
 * @throws KeyrailError where a page does not go on from those before it, or there are more keys than fit
 */
export async function walk(first: Snapshot, deps: WalkDeps): Promise<Walked> {
  const { next, clock, room, hasLabels, held, hasServed, isEnded, signal } = deps
  const store = new Store(Math.max(room.maxCachedKeys, held?.maxKeys ?? 0), hasLabels)
  const guard = new WalkGuard(first, Math.max(store.maxKeys, room.maxAutoCachedKeys))
  const renewed: string[] = []
  const unreadable: Unreadable[] = []
  let features = first.features
  let isFull = false
  let page = first
  for (;;) {
    const startedAt = clock.monotonic()
    guard.check(page)
    if (page.deleted) break
    for (const { tenantId, label } of page.tenants) store.labels?.tell(tenantId, label)
    for (const key of page.keys) {
      if (isEnded(key.digest)) renewed.push(key.digest)
      if (!isFull && !makeRoom(store, key.keyId, room)) {
        if (held === undefined || !hasServed)
          throw new PolicyScopeTooLargeError({ refusedToStart: true, maxKeys: store.maxKeys })
        // What is served goes on being served: of the keys that are left, those that were held before.
        store.keepOnly(held)
        isFull = true
      }
      if (isFull && !held?.hasId(key.keyId)) store.evictions++
      else store.upsert(key)
    }
    store.labels?.prune(page.tenants.map(({ tenantId }) => tenantId))
    features = features.filter(name => page.features.includes(name))
    for (const each of page.unreadable) unreadable.push(each)
    if (page.nextCursor === null) break
    const { nextCursor } = page
    await pause(PAGE_FLOOR_MS - (clock.monotonic() - startedAt), signal)
    page = await next(nextCursor)
  }
  if (page.deleted) store.clear()
  return { store, renewed, unreadable, features, last: page }
}

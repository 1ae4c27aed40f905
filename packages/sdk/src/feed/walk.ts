import type { Clock } from '../runtime/clock.ts'
import { type KeyrailError, PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import { Store } from '../store/store.ts'
import type { Snapshot } from './body.ts'
import { type ListedTenant, tooManyTenants } from './listed.ts'
import { unreadableParts } from './odd.ts'
import { areTooMany, growFor, type KeyQuota, quotaTenants } from './quota.ts'
import type { Unreadable } from './record.ts'
import { WalkGuard } from './walk-guard.ts'

/** Least time between the starts of two pages, to limit the load from a faulty service. A page of 5,000 keys takes longer. */
export const PAGE_FLOOR_MS = 20

export interface WalkDeps {
  next: (cursor: string) => Promise<Snapshot>
  clock: Pick<Clock, 'monotonic' | 'pause'>
  quota: KeyQuota
  hasLabels: boolean
  /** The served store, and whether it was ever served: one that an earlier process left too long ago was not. */
  held: Store | undefined
  hasServed: boolean
  /** Whether the key with this digest is known to have ended. */
  isEnded: (digest: string) => boolean
  signal: AbortSignal
}

export interface Walked {
  store: Store
  /** Digests of ended keys that the feed sends again. */
  renewed: string[]
  /** What to report of the keys and tenants of the pages that cannot be read. */
  odd: readonly KeyrailError[]
  /** The features that every page knew. */
  features: readonly string[]
  last: Snapshot
}

/**
 * Reads the pages of a walk into a new store, beside the served one.
 *
 * @throws KeyrailError if a page does not continue the ones before it, or the keys do not fit
 */
export async function walk(first: Snapshot, deps: WalkDeps): Promise<Walked> {
  const { next, clock, quota, hasLabels, held, hasServed, isEnded, signal } = deps
  const { pause: wait = pause } = clock
  const store = new Store(Math.max(quota.maxCachedKeys, held?.maxKeys ?? 0), hasLabels)
  const guard = new WalkGuard(first, Math.max(store.maxKeys, quota.maxAutoCachedKeys))
  const renewed: string[] = []
  const unreadable: Unreadable[] = []
  const listed: ListedTenant[] = []
  let features = first.features
  let isFull = false
  let isImportedOdd = false
  let page = first
  for (;;) {
    const startedAt = clock.monotonic()
    guard.check(page)
    if (page.acceptsImported) store.setAcceptsImported(true)
    isImportedOdd ||= page.isImportedOdd
    if (page.deleted) break
    for (const { tenantId, label } of page.tenants) store.labels?.setTenant(tenantId, label)
    for (const each of page.listed ?? []) {
      // A page never resumes a tenant of a page before it, and ends no list: the delta after the walk does.
      if (each.isSuspended) store.setSuspended(each.tenantId, true)
      if (each.networks) store.setTenantNetworks(each.tenantId, each.networks)
      if (each.unreadable !== undefined) listed.push(each)
    }
    if (areTooMany(quota, store)) throw tooManyTenants(quotaTenants(quota))
    for (const key of page.keys) {
      if (isEnded(key.digest)) renewed.push(key.digest)
      if (!isFull && !growFor(store, key.keyId, quota)) {
        if (held === undefined || !hasServed)
          throw new PolicyScopeTooLargeError({ refusedToStart: true, maxKeys: store.maxKeys })
        // The served keys stay: of the remaining keys, keep only those that were held before.
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
    await wait(PAGE_FLOOR_MS - (clock.monotonic() - startedAt), signal)
    page = await next(nextCursor)
  }
  if (page.deleted) store.clear()
  const odd = unreadableParts(unreadable, listed, isImportedOdd)
  return { store, renewed, odd, features, last: page }
}

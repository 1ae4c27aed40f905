import type { Store } from '../store/store.ts'
import type { EndedKeys } from '../verify/ended-keys.ts'
import type { Delta } from './body.ts'
import { CIDR } from './listed.ts'
import { areTooMany, growFor, type KeyQuota } from './quota.ts'

/** Whether a readable delta does not suffice to bring a store up to date. */
export function needsSnapshot(
  answer: Delta,
  { store, features, quota }: { store: Store; features: readonly string[]; quota: KeyQuota },
): boolean {
  // A service that knows more features than before sent its keys without them.
  if (answer.features.some(name => !features.includes(name))) return true
  // The store also knows tenants that have lost their keys; a new one does not.
  return areTooMany(quota, store, answer.listed)
}

/** Applies a delta to a store. */
export function applyDelta(
  { deleted, changes, generatedAt, tenants, listed = [], features, acceptsImported }: Delta,
  { store, ended, quota }: { store: Store; ended: EndedKeys; quota: KeyQuota },
): void {
  // After a file of a process that did not know: a service that does not say either has no such keys.
  if (store.acceptsImported === undefined) store.setAcceptsImported(false)
  if (deleted) {
    ended.addAll(store.records, generatedAt)
    store.clear()
    return
  }
  // A process of before the feature does not say.
  if (acceptsImported !== undefined) store.setAcceptsImported(acceptsImported)
  for (const { tenantId, label } of tenants) store.labels?.setTenant(tenantId, label)
  if (tenants.length > 0) store.revision++
  for (const { tenantId, isSuspended, networks } of listed) {
    if (isSuspended !== undefined) store.setSuspended(tenantId, isSuspended)
    if (networks !== undefined) store.setTenantNetworks(tenantId, networks ?? undefined)
  }
  const hasNetworks = features.includes(CIDR)
  for (const change of changes ?? []) {
    if ('upsert' in change) {
      const { upsert } = change
      ended.forget(upsert.digest)
      // If the store is full, the new key replaces the least recently used one.
      growFor(store, upsert.keyId, quota)
      // A process of before the feature leaves networks out: those that the key has stay.
      const { networks = hasNetworks ? undefined : store.ownNetworks(upsert.keyId) } = upsert
      store.upsert({ ...upsert, networks })
      continue
    }
    const { keyId, digest } = change.gone
    const slot = digest === undefined ? -1 : store.find(digest)
    if (digest !== undefined && change.isUnreadable) ended.forget(digest)
    else if (digest !== undefined && change.cause !== undefined)
      ended.addCause(digest, change.cause, slot === -1 ? undefined : store.records.env(slot))
    else if (slot !== -1) ended.add(store.records, slot, generatedAt)
    store.remove(keyId, digest)
  }
  store.labels?.prune(tenants.map(({ tenantId }) => tenantId))
}

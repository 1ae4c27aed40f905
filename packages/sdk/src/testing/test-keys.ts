import { randomUUID } from 'node:crypto'
import { digestOf } from '../runtime/digest.ts'
import type { TenantLabel } from '../store/labels.ts'
import type { StoredKey } from '../store/records.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from '../verify/ended-keys.ts'
import { readKeyForm } from '../verify/token.ts'
import { drawKey } from './draw-key.ts'
import { readLabels, type TestKeyringOptions } from './keyring-options.ts'
import {
  checkLimits,
  readCidrs,
  readText,
  type TestKey,
  type TestKeyOptions,
  toLabels,
  whole,
} from './test-key.ts'

export const KEYS_MAX = 1_000_000

/** The keys of a test keyring, and what becomes of them. */
export class TestKeys {
  readonly store: Store
  readonly ended = new EndedKeys()
  readonly #options: TestKeyringOptions
  /** By digest, those that are active or disabled: a disabled one is not in the store. */
  readonly #living = new Map<string, StoredKey>()
  /** By tenant: the store drops what belongs to no key. */
  readonly #tenants = new Map<string, TenantLabel>()

  constructor(options: TestKeyringOptions) {
    this.#options = options
    this.store = new Store(KEYS_MAX, Object.values(readLabels(options)).includes(true))
    this.store.confirm(0)
  }

  issue(given: TestKeyOptions): TestKey {
    const { env: own = 'live' } = this.#options
    const { key: text, env = own === 'both' ? 'live' : own, tenantId = randomUUID() } = given
    const { scopes = [], rateLimits = [], allowedCidrs } = given
    checkLimits(rateLimits)
    const key = text === undefined ? drawKey(`kr_${env}_`) : readText(text, env)
    const { label, ofTenant } = toLabels(tenantId, given, readLabels(this.#options))
    const stored = {
      keyId: randomUUID(),
      tenantId,
      env,
      digest: digestOf(key),
      scopes: [...scopes],
      rateLimits: rateLimits.length === 0 ? undefined : [...rateLimits],
      expiresAt: whole(given.expiresAt),
      tooOldAt: whole(given.tooOldAt),
      networks: allowedCidrs === null || allowedCidrs === undefined ? undefined : readCidrs(allowedCidrs),
      label,
    }
    // As a project does from its first import on.
    if (readKeyForm(key) === 'malformed') this.store.setAcceptsImported(true)
    this.#tenants.set(tenantId, ofTenant)
    this.#hold(stored)
    return { key, keyId: stored.keyId, tenantId }
  }

  end({ key, keyId }: TestKey, cause: string): void {
    const digest = digestOf(key)
    this.store.remove(keyId, digest)
    this.ended.addCause(digest, cause)
    if (cause !== 'disabled') this.#living.delete(digest)
  }

  disable(key: TestKey): void {
    this.#livingOf(key)
    this.end(key, 'disabled')
  }

  enable(key: TestKey): void {
    const stored = this.#livingOf(key)
    if (!this.store.hasId(stored.keyId)) this.#hold(stored)
  }

  #hold(stored: StoredKey): void {
    const { digest, tenantId } = stored
    this.ended.forget(digest)
    this.#living.set(digest, stored)
    this.store.upsert(stored)
    this.store.labels?.setTenant(tenantId, this.#tenants.get(tenantId) ?? {})
  }

  /** @throws TypeError for a key that has ended, as the service refuses to pause or resume it */
  #livingOf({ key, keyId }: TestKey): StoredKey {
    const stored = this.#living.get(digestOf(key))
    if (stored?.keyId === keyId && Date.now() < stored.expiresAt) return stored
    throw new TypeError(
      'a key that was revoked, has expired or is of another keyring is neither disabled nor enabled',
    )
  }
}

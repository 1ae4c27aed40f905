import { randomUUID } from 'node:crypto'
import type { Customer } from '../keyring/imported-customer.ts'
import type { Imported } from '../keyring/importer.ts'
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
  /** Of a key whose text names none. */
  readonly #env: 'live' | 'test'
  readonly #labels: ReturnType<typeof readLabels>
  /** By digest, those that are active or disabled: a disabled one is not in the store. */
  readonly #living = new Map<string, StoredKey>()
  /** By tenant: the store drops what belongs to no key. */
  readonly #tenants = new Map<string, TenantLabel>()
  /** By external id. */
  readonly #tenantIds = new Map<string, string>()

  constructor(options: TestKeyringOptions) {
    this.#env = options.env === 'test' ? 'test' : 'live'
    this.#labels = readLabels(options)
    this.store = new Store(KEYS_MAX, Object.values(this.#labels).includes(true))
    this.store.confirm(0)
  }

  issue(given: TestKeyOptions): TestKey {
    const { key: text, env = this.#env, tenantId = randomUUID(), externalId = tenantId } = given
    checkLimits(given.rateLimits ?? [])
    const key = text === undefined ? drawKey(`kr_${env}_`) : readText(text, env)
    const stored = this.#toStored(digestOf(key), env, tenantId, given)
    // As a project does from its first import on.
    if (readKeyForm(key) === 'malformed') this.store.setAcceptsImported(true)
    this.#tenants.set(tenantId, toLabels(tenantId, given, this.#labels).ofTenant)
    this.#tenantIds.set(externalId, tenantId)
    this.#hold(stored)
    return { key, keyId: stored.keyId, tenantId }
  }

  /**
   * Takes what `onUnknownKey` accepted, as the service imports it.
   *
   * @param form that of the key's text; undefined for one that is not of Keyrail's own form
   */
  import(digest: string, customer: Customer, form: 'live' | 'test' | undefined): Imported {
    const { externalId = '', name: keyName, scopes, meta, expiresAt } = customer
    const tenantId = customer.tenantId ?? this.#tenantIds.get(externalId) ?? externalId
    const given = { keyName, scopes, meta, expiresAt }
    if (form === undefined) this.store.setAcceptsImported(true)
    if (!this.#tenants.has(tenantId))
      this.#tenants.set(tenantId, toLabels(tenantId, given, this.#labels).ofTenant)
    const stored = this.#toStored(digest, form ?? this.#env, tenantId, given)
    this.#hold(stored)
    return { isActive: Date.now() < stored.expiresAt && !this.store.suspended.has(tenantId) }
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

  #toStored(digest: string, env: 'live' | 'test', tenantId: string, given: TestKeyOptions): StoredKey {
    const { scopes = [], rateLimits = [], allowedCidrs, expiresAt, tooOldAt } = given
    return {
      keyId: randomUUID(),
      tenantId,
      env,
      digest,
      scopes: [...scopes],
      rateLimits: rateLimits.length === 0 ? undefined : [...rateLimits],
      expiresAt: whole(expiresAt),
      tooOldAt: whole(tooOldAt),
      networks: allowedCidrs === null || allowedCidrs === undefined ? undefined : readCidrs(allowedCidrs),
      label: toLabels(tenantId, given, this.#labels).label,
    }
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

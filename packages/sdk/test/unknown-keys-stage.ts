import { setImmediate as turn } from 'node:timers/promises'
import type { Customer, OnUnknownKey } from '../src/keyring/imported-customer.ts'
import type { Imported } from '../src/keyring/importer.ts'
import { UnknownKeys } from '../src/keyring/unknown-keys.ts'
import { createGate } from '../src/protect/request-gate.ts'
import type { KeyrailError } from '../src/runtime/errors.ts'
import type { StoredKey } from '../src/store/records.ts'
import { Store } from '../src/store/store.ts'
import { withGateParts } from '../src/verify/gate-parts.ts'
import { createVerify, type Served } from '../src/verify/verify.ts'
import { id } from './keys.ts'

export const BEGAN = Date.parse('2027-01-01T00:00:00Z')

/** A clock that a test moves. Its pauses end when it has passed their time. */
function virtualClock() {
  let now = 0
  const waiting = new Set<{ due: number; end: () => void }>()
  return {
    monotonic: () => now,
    wall: () => BEGAN + now,
    pause: (milliseconds: number, signal: AbortSignal) =>
      new Promise<void>(resolve => {
        const entry = { due: now + milliseconds, end: resolve }
        waiting.add(entry)
        signal.addEventListener('abort', () => {
          waiting.delete(entry)
          resolve()
        })
      }),
    async pass(milliseconds: number) {
      now += milliseconds
      for (const each of waiting) {
        if (each.due > now) continue
        waiting.delete(each)
        each.end()
      }
      await turn()
    },
  }
}

/** A node of an empty feed, and a service that imports what it is sent: `brings` says whether the feed has it at once. */
export function openUnknownKeys(check: OnUnknownKey, env: 'live' | 'test' | 'both' = 'live') {
  const clock = virtualClock()
  const store = new Store(100)
  store.confirm(0)
  const served: Served = { store, hits: 0, misses: 0, evictions: 0 }
  const judge = createVerify(served, { env, cachedTtlMs: 3_600_000, clock })
  const errors: KeyrailError[] = []
  const sent: { digest: string; customer: Customer; env: 'live' | 'test' | undefined }[] = []
  const world = { asked: 0, brings: true, answer: async (): Promise<Imported> => ({ isActive: true }) }
  /** What a poll does that brings the imported keys. */
  const bring = (more: Partial<StoredKey> = {}) => {
    store.setAcceptsImported(true)
    for (const [at, { digest, customer, env = 'live' }] of sent.entries())
      store.upsert({ ...storedKey, keyId: id(at + 1), env, digest, scopes: customer.scopes, ...more })
    unknownKeys.polled()
  }
  const unknownKeys = new UnknownKeys({
    check: (...given) => {
      world.asked++
      return check(...given)
    },
    async send(digest, customer, env) {
      sent.push({ digest, customer, env })
      const answer = await world.answer()
      if (world.brings && answer.isActive) bring()
      return answer
    },
    clock,
    served,
    cachedTtlMs: 3_600_000,
    judge,
    onError: error => errors.push(error),
  })
  const gate = createGate({ verify: withGateParts(judge, { unknownKeys }) }, { getKey: ({ key }) => key })
  const admit = (key: string, scopes?: readonly string[]) => gate.admit({ rawHeaders: [], key }, { scopes })
  const code = async (key: string, scopes?: readonly string[]) => {
    const { refusal } = await admit(key, scopes)
    return refusal === undefined ? 'valid' : (refusal.body as { code: string }).code
  }
  const codes = () => errors.map(error => error.code)
  return { clock, store, served, errors, codes, sent, world, bring, unknownKeys, admit, code }
}

export const acme = { externalId: 'acme', scopes: ['orders:read'] }
export const storedKey: StoredKey = {
  keyId: id(1),
  tenantId: id(2),
  env: 'live',
  digest: '',
  scopes: [],
  rateLimits: undefined,
  expiresAt: Number.POSITIVE_INFINITY,
}

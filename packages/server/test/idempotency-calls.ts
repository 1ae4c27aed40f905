import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Heard } from './harness.ts'

type AskApi = (method: string, url: string, ask: { token: string; body: unknown }) => Promise<Heard>

/** The four calls as a vendor's server makes them. Each returns the body of a 200. */
export function openCalls(ask: AskApi, token: string) {
  const call = async (name: string, body: object) => {
    const heard = await ask('POST', `/v1/idempotency/${name}`, { token, body })
    assert.equal(heard.status, 200, JSON.stringify(heard.body).slice(0, 500))
    return heard.body
  }
  return {
    claim: (scope: string, more: object = {}) =>
      call('claim', { scope_hash: scope, env: 'live', fingerprint: fingerprintA, ...more }),
    complete: (scope: string, lockToken: string, more: object = {}) =>
      call('complete', { scope_hash: scope, env: 'live', lock_token: lockToken, status: 200, ...more }),
    release: (scope: string, lockToken: string, more: object = {}) =>
      call('release', { scope_hash: scope, env: 'live', lock_token: lockToken, ...more }),
    heartbeat: (scope: string, lockToken: string, more: object = {}) =>
      call('heartbeat', { scope_hash: scope, env: 'live', lock_token: lockToken, ...more }),
  }
}

export const fingerprintA = 'a'.repeat(64)
export const fingerprintB = 'b'.repeat(64)
export const newScope = () => randomBytes(32).toString('hex')

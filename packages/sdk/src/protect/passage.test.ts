import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HttpProblem } from '../http/problem.ts'
import { createTestKeyring } from '../testing.ts'
import { RefusalCounts } from '../verify/refusal-counts.ts'
import { Exchange } from './exchange.ts'
import { Gate } from './gate.ts'
import type { GateVerdict } from './gate-options.ts'
import { openPassage } from './passage.ts'
import { requireScopes } from './require-scopes.ts'

const keyring = createTestKeyring()
const { key } = keyring.issue({ scopes: ['read'] })
const rawHeaders = ['authorization', `Bearer ${key}`]

/** What a listener hears about one request that meets gates, and then a demand. */
async function reports(gates: { scopes?: string[] }[], demanded?: string) {
  const verdicts: [passed: boolean, code: string, later: boolean][] = []
  const onVerdict = ({ passed, code, later }: GateVerdict) =>
    void verdicts.push([passed, code, later === true])
  const exchange = new Exchange()
  for (const options of gates) {
    const gate = new Gate('requireKey', keyring, { ...options, onVerdict })
    const { refusal, key: verdict } = await gate.admit({ exchange, rawHeaders, request: {} })
    if (refusal !== undefined) return verdicts
    if (demanded !== undefined) requireScopes([demanded])(exchange, verdict)
  }
  return verdicts
}

test('a request is reported once, however many protections with one listener it passes', async () => {
  assert.deepEqual(await reports([{}, { scopes: ['read'] }, {}]), [[true, 'valid', false]])
})

test('a refusal after a request has passed is reported as later', async () => {
  assert.deepEqual(await reports([{ scopes: ['write'] }]), [[false, 'insufficient_scope', false]])
  const then = [
    [true, 'valid', false],
    [false, 'insufficient_scope', true],
  ]
  assert.deepEqual(await reports([{}], 'write'), then)
  assert.deepEqual(await reports([{}, { scopes: ['write'] }]), then)
})

test('a refusal that is not counted leaves the count of its request to the next gate', () => {
  const counts = new RefusalCounts('project', () => 0, 'live', true)
  const exchange = new Exchange()
  for (const refusal of ['limits_unavailable', 'unknown_key', 'revoked_key'])
    openPassage(exchange, {}, {}, { counts, presented: key }).refuse({
      status: 401,
      headers: {},
      body: { code: refusal },
    } as HttpProblem)
  assert.deepEqual(
    counts.take()?.records.map(({ reason, count }) => [reason, count]),
    [['shadow_guard_unknown_key', 1]],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RefusalCode, refusals, refused } from '../verify/verdict.ts'
import { readCredential } from './credential.ts'
import { toHttpRefusal } from './refusal.ts'

test('every refusal has its status, its challenge and its code', () => {
  const shown = Object.fromEntries(
    Object.keys(refusals).map(code => {
      const { status, headers, body } = toHttpRefusal(refused[code as RefusalCode])
      assert.equal(headers['content-type'], 'application/problem+json')
      assert.deepEqual([body.code, body.status], [code, status])
      return [code, [status, headers['www-authenticate'] ?? headers['retry-after'] ?? 'no challenge']]
    }),
  )
  const invalid = [401, 'Bearer error="invalid_token"']
  assert.deepEqual(shown, {
    missing_key: [401, 'Bearer'],
    malformed_key: invalid,
    wrong_env: invalid,
    not_ready: [503, '5'],
    stale: [503, '5'],
    not_held: [503, '5'],
    unknown_key: invalid,
    revoked_key: invalid,
    disabled_key: invalid,
    suspended_tenant: invalid,
    expired_key: invalid,
    too_old: invalid,
    ip_unknown: [403, 'no challenge'],
    ip_not_allowed: [403, 'no challenge'],
    insufficient_scope: [403, 'Bearer error="insufficient_scope"'],
  })
})

test('a missing scope is named in the body, and in the header if the header can carry it', () => {
  const { headers, body } = toHttpRefusal(refused.insufficient_scope, {
    scopes: ['orders:read', 'a"b', 'ü', 'x\r\ny'],
  })
  assert.equal(headers['www-authenticate'], 'Bearer error="insufficient_scope", scope="orders:read"')
  assert.deepEqual(body.scopes, ['orders:read', 'a"b', 'ü', 'x\r\ny'])
})

test('the key is read from one header, and each fault is distinguished', () => {
  const read = (...headers: string[]) => {
    const { key, fault } = readCredential(headers, 'authorization')
    return fault ?? key
  }
  assert.equal(read(), undefined)
  assert.equal(read('Accept', 'x', 'AUTHORIZATION', 'Bearer kr_1'), 'kr_1')
  assert.equal(read('authorization', 'bearer  kr_1 '), 'kr_1')
  for (const [wrong, fault] of [
    ['', 'no_scheme'],
    ['Bearer', 'bad_form'],
    ['Bearer ', 'bad_form'],
    ['kr_1', 'no_scheme'],
    ['Basic kr_1', 'other_scheme'],
    ['Bearer kr_1 kr_2', 'bad_form'],
    ['Bearerkr_1', 'no_scheme'],
    ['Bearer kr_1, Bearer kr_2', 'twice'],
  ] as const) {
    assert.equal(read('authorization', wrong), fault, wrong)
  }
  assert.equal(read('authorization', 'Bearer kr_1', 'Authorization', 'Bearer kr_1'), 'twice')
  assert.deepEqual(readCredential(['X-Api-Key', ' kr_1'], 'x-api-key'), { key: 'kr_1' })
  assert.deepEqual(readCredential(['Authorization', 'Bearer kr_1'], 'x-api-key'), { key: undefined })
})

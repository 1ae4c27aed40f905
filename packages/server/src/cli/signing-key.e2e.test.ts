import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { ask, Installation, looksLikeStack } from '../../test/installation.ts'
import { publishedBeforeS } from '../platform/db/sealed/signing-keys.ts'

describe('keyrail signing-key rotate', () => {
  let installation: Installation
  before(() => {
    installation = new Installation()
  })
  after(() => installation.remove())

  const rotate = (flags: string[] = [], env: Record<string, string> = {}) =>
    installation.start(['signing-key', 'rotate', ...flags], env).ended

  test('the first key signs at once, the next one after its publication, and a third waits', async () => {
    assert.equal((await installation.start(['migrate']).ended).code, 0)
    const first = await rotate()
    assert.equal(first.code, 0, first.err)
    const [, firstKid, firstFrom = ''] =
      /^Key ([\w-]{43}) is published, and signs from (\S+)\.\n$/.exec(first.out) ?? []
    const second = await rotate(['--json'])
    assert.equal(second.code, 0, second.err)
    const { kid, signs_from } = JSON.parse(second.out)
    assert.ok(Date.parse(signs_from) - Date.parse(firstFrom) >= publishedBeforeS * 1_000)

    const third = await rotate()
    assert.deepEqual([third.code, third.out], [1, ''])
    assert.ok(third.err.includes(`Key ${kid} is already waiting: it signs in `), third.err)
    assert.ok(!looksLikeStack(third.err), third.err)

    const service = await installation.serve()
    for (const path of ['/.well-known/jwks.json', '/v1/.well-known/jwks.json']) {
      const heard = await ask(service.url + path)
      assert.deepEqual(
        heard?.body.keys.map((key: { kid: string }) => key.kid),
        [firstKid, kid],
      )
    }
    service.child.kill('SIGTERM')
    await service.ended
  })

  test('the operator rotates keys from SERVICE_SIGNING_KEY', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const { code, out, err } = await rotate([], { SERVICE_SIGNING_KEY: pem })
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /SERVICE_SIGNING_KEY/)
    assert.ok(!err.includes('PRIVATE'))
  })

  test('an unusable key stops the start, and is not quoted', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const { code, err } = await rotate([], { SERVICE_SIGNING_KEY: pem })
    assert.equal(code, 1)
    assert.match(err, /SERVICE_SIGNING_KEY must be one or more P-256 private keys in PEM/)
    assert.ok(!err.includes(pem.split('\n')[1] ?? '?'))
  })
})

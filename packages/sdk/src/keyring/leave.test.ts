import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { issue, service, start } from '../../test/keyring-stage.ts'

const told = () =>
  service.asked
    .filter(({ url }) => url.searchParams.has('leaving'))
    .map(({ url }) => [url.pathname, url.searchParams.get('since'), url.searchParams.get('leaving')])

test('a keyring that closes tells the service once, when it refuses every key', async () => {
  const key = issue()
  const { keyring, code } = start()
  await keyring.ready()
  service.misbehave = ({ url }) => {
    if (url.searchParams.has('leaving')) assert.equal(code(key), 'not_ready')
    return undefined
  }
  await Promise.all([keyring.close(), keyring.close()])
  await keyring.close()
  assert.deepEqual(told(), [['/v1/policy/delta', String(service.version), 'true']])
})

test('each close ends once the service was told', async () => {
  issue()
  const { keyring } = start()
  await keyring.ready()
  let isAnswered = false
  const before = async () => {
    await new Promise(resolve => setTimeout(resolve, 50))
    isAnswered = true
  }
  service.misbehave = ({ url }) => (url.searchParams.has('leaving') ? { before } : undefined)
  const first = keyring.close()
  await keyring.close()
  assert.ok(isAnswered)
  await first
})

test('a keyring closes although the service hangs, refuses it or is away', async () => {
  issue()
  for (const instead of [{ hang: true }, { status: 503 }] as const) {
    const { keyring, errors } = start()
    await keyring.ready()
    service.misbehave = ({ url }) => (url.searchParams.has('leaving') ? instead : undefined)
    await keyring.close()
    assert.deepEqual(errors, [])
  }
  assert.equal(told().length, 2)
  service.misbehave = undefined
  const { keyring } = start()
  await keyring.ready()
  await service.close()
  await keyring.close()
})

test('a closed keyring refuses a key that `onUnavailable` would let pass', async () => {
  const key = issue()
  const own = {
    valid: true,
    code: 'valid',
    keyId: 'k',
    tenantId: 't',
    env: 'live',
    scopes: [],
    expiresAt: null,
  } as const
  const { keyring, code } = start({ onUnavailable: () => own })
  assert.equal(code(key), 'valid')
  await keyring.ready()
  await keyring.close()
  assert.equal(code(key), 'not_ready')
})

test('a keyring that has loaded nothing tells nothing', async () => {
  service.misbehave = () => ({ status: 503 })
  const { keyring } = start()
  await keyring.close()
  assert.deepEqual(told(), [])
})

test('a keyring with `cacheDir` or a name of its own tells nothing', async () => {
  const cacheDir = await mkdtemp(join(tmpdir(), 'keyrail-leave-'))
  issue()
  for (const options of [{ cacheDir }, { node: 'api' }]) {
    const { keyring } = start(options)
    await keyring.ready()
    await keyring.close()
  }
  assert.deepEqual(told(), [])
  await rm(cacheDir, { recursive: true })
})

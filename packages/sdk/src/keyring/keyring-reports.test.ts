import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { secretKey } from '../../test/feed-service.ts'
import { issue, service, start } from '../../test/keyring-stage.ts'
import { id } from '../../test/keys.ts'
import { until } from '../../test/until.ts'

test('raising the limit is reported to onError and onNotice', async () => {
  for (let number = 1; number <= 3; number++) issue(number)
  const { keyring, notices, errors } = start({ maxCachedKeys: 2 })
  await keyring.ready()
  assert.deepEqual(
    notices.map(({ code, maxCachedKeys }) => [code, maxCachedKeys]),
    [['cache_raised', 3]],
  )
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['cache_raised'],
  )
})

test('a node that is nearly full says so once, and again after keys were removed', async () => {
  for (let number = 1; number <= 7; number++) issue(number)
  const { keyring, notices, errors } = start({ maxCachedKeys: 10, maxAutoCachedKeys: 10 })
  await keyring.ready()
  const held = async (keys: number) =>
    await until(() => keyring.stats().keys === keys, `it holds ${keys} keys`)
  const noticed = () => notices.filter(({ code }) => code === 'nearly_full').length
  assert.equal(noticed(), 0)
  issue(8)
  await held(8)
  assert.equal(noticed(), 1)
  assert.match(notices[0]?.message ?? '', /8 keys of the 10/)
  issue(9)
  await held(9)
  assert.equal(noticed(), 1)
  for (const number of [8, 9]) service.revoke(id(number))
  await held(7)
  issue(10)
  await held(8)
  assert.equal(noticed(), 2)
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['nearly_full', 'nearly_full'],
  )
})

test('a listener that throws or rejects causes a warning and stops nothing', async () => {
  const warnings: (Error & { code?: string })[] = []
  const hear = (warning: Error) => warnings.push(warning)
  process.on('warning', hear)
  try {
    for (const onError of [
      () => {
        throw new Error('mine')
      },
      async () => {
        throw new Error('mine')
      },
    ]) {
      service.instead.push({ status: 503 })
      const { keyring } = start({ onError })
      await keyring.ready()
      await until(() => warnings.length > 0, 'the warning came')
      const [warning] = warnings.splice(0)
      assert.deepEqual([warning?.name, warning?.code], ['KeyrailWarning', 'listener_threw'])
    }
  } finally {
    process.off('warning', hear)
  }
})

test('without a listener, a lasting outage causes one warning', async () => {
  const warnings: (Error & { code?: string })[] = []
  const hear = (warning: Error) => warnings.push(warning)
  process.on('warning', hear)
  try {
    for (let times = 0; times < 4; times++) service.instead.push({ status: 503 })
    const { keyring } = start({ onError: undefined })
    await keyring.ready()
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ['http_503'],
    )
  } finally {
    process.off('warning', hear)
  }
})

test('nothing that a keyring shows contains its secret key', async () => {
  const { keyring } = start()
  await keyring.ready()
  const shown = inspect([keyring, keyring.stats()], { depth: 9, showHidden: true }) + JSON.stringify(keyring)
  assert.ok(!shown.includes(secretKey.slice(10)))
})

test('a detail that ends in a full stop gets no second one', async () => {
  service.instead.push({ status: 503, body: { code: 'unavailable', detail: 'The store is away.' } })
  const { keyring, errors } = start()
  await keyring.ready()
  assert.match(errors[0]?.message ?? '', /: The store is away\. Still trying, and ready\(\) waits$/)
})

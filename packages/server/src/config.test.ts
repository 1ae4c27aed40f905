import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, readConfig } from './config.ts'

test('without any setting the service listens on loopback, on the embedded database, with bootstrap off', () => {
  const { config, warnings } = readConfig({})
  assert.deepEqual(
    [config.host, config.port, config.databaseUrl, config.bootstrapToken, config.metricsPort],
    ['127.0.0.1', 8080, null, null, null],
  )
  assert.deepEqual(warnings, [])
})

test('all faults are listed at once, and none quotes a secret', () => {
  const token = 'short-secret'
  assert.throws(
    () =>
      readConfig({
        SERVICE_PORT: '0x50',
        SERVICE_DATABASE_POOL: '0',
        DATABASE_URL: 'mysql://x',
        SERVICE_BOOTSTRAP_TOKEN: token,
        SERVICE_LOG_LEVEL: 'loud',
      }),
    error => {
      assert.ok(error instanceof ConfigError)
      assert.equal(error.faults.length, 5)
      assert.ok(!error.message.includes(token))
      return true
    },
  )
})

test('a secret is read from a file, and a setting given twice or a file that is not there is a fault', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keyrail-config-')), 'token')
  writeFileSync(file, `${'t'.repeat(40)}\n`)
  const { config } = readConfig({ SERVICE_BOOTSTRAP_TOKEN_FILE: file })
  assert.equal(config.bootstrapToken, 't'.repeat(40))
  const twice = { SERVICE_BOOTSTRAP_TOKEN_FILE: file, SERVICE_BOOTSTRAP_TOKEN: 'u'.repeat(40) }
  for (const env of [twice, { SERVICE_BOOTSTRAP_TOKEN_FILE: `${file}.gone` }]) {
    assert.throws(() => readConfig(env), ConfigError)
  }
})

test('an unknown name is a warning that names the nearest known one', () => {
  const { warnings } = readConfig({ SERVICE_PROT: '1', OTHER: 'x' })
  assert.deepEqual(warnings, ['SERVICE_PROT is not a setting; did you mean SERVICE_PORT?'])
})

test('a Redis is named by one URL, or by several of a cluster, and a fault does not quote its password', () => {
  for (const url of ['redis://localhost', 'rediss://:a,b@[::1]:6380/1', 'redis://a:7000,redis://:b@c:7001'])
    assert.equal(readConfig({ REDIS_URL: url }).config.redisUrl, url)
  for (const url of [
    'localhost:6379',
    'http://:word@a',
    'redis://:word@a:7000,b:7001',
    'redis://:word@a:x',
  ]) {
    assert.throws(
      () => readConfig({ REDIS_URL: url }),
      error => error instanceof ConfigError && error.faults.length === 1 && !error.message.includes('word'),
    )
  }
})

test('passwords and sessions have bounds that no setting takes away', () => {
  const { config } = readConfig({})
  assert.deepEqual(
    [config.passwordMinLength, config.sessionMaxAgeS, config.sessionIdleS, config.authPerIp],
    [12, 7 * 24 * 3_600, 24 * 3_600, null],
  )
  assert.equal(readConfig({ SERVICE_AUTH_PER_IP: '20' }).config.authPerIp, 20)
  for (const [name, value] of [
    ['SERVICE_PASSWORD_MIN_LENGTH', '7'],
    ['SERVICE_PASSWORD_MIN_LENGTH', '65'],
    ['SERVICE_SESSION_MAX_AGE_S', '0'],
    ['SERVICE_SESSION_IDLE_S', '59'],
    ['SERVICE_AUTH_PER_IP', '0'],
  ] as const)
    assert.throws(() => readConfig({ [name]: value }), ConfigError, `${name}=${value}`)
})

test('mail goes into the data directory unless a mail server is named; a fault does not quote its password', () => {
  const { config } = readConfig({
    SERVICE_DATA_DIR: '/srv/keyrail',
    SERVICE_PUBLIC_URL: 'https://keys.example.com',
  })
  assert.deepEqual(config.mail, {
    route: { kind: 'folder', path: '/srv/keyrail/mail' },
    from: { name: 'Keyrail', address: 'no-reply@keys.example.com' },
  })
  const file = join(mkdtempSync(join(tmpdir(), 'keyrail-config-')), 'mail')
  writeFileSync(file, 'smtps://keyrail:word@mail.example.com\n')
  const from = 'Keys <keys@example.com>'
  const { mail } = readConfig({ SERVICE_MAIL_URL_FILE: file, SERVICE_MAIL_FROM: from }).config
  assert.deepEqual([mail.route.kind, mail.from], ['smtp', { name: 'Keys', address: 'keys@example.com' }])
  assert.throws(
    () => readConfig({ SERVICE_MAIL_URL: 'smtp://keyrail:word@a/b', SERVICE_MAIL_FROM: 'a@b, c@d' }),
    error => error instanceof ConfigError && error.faults.length === 2 && !error.message.includes('word'),
  )
})

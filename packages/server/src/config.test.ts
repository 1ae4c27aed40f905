import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { ConfigError, fieldOf, readConfig } from './config.ts'
import { networkText } from './platform/network/cidr.ts'
import type { Setting } from './setting.ts'
import { settings } from './settings.ts'

test('by default the service listens on loopback with an embedded database', () => {
  const { config, warnings } = readConfig({})
  assert.deepEqual(
    [config.host, config.port, config.databaseUrl, config.bootstrapToken, config.metricsPort],
    ['127.0.0.1', 8080, null, null, null],
  )
  assert.deepEqual(warnings, [])
})

/** Settings that depend on more than their own text. */
const composed = [
  'SERVICE_PUBLIC_URL',
  'SERVICE_ENCRYPTION_KEY',
  'SERVICE_MAIL_URL',
  'SERVICE_MAIL_FROM',
  'SERVICE_MAIL_EHLO_NAME',
]

test('a setting is a field named after it, with the default of the table', () => {
  const config: Record<string, unknown> = { ...readConfig({}).config }
  for (const [name, { kind, default: byDefault }] of Object.entries<Setting>(settings)) {
    if (composed.includes(name)) continue
    const expected = kind === 'path' && byDefault !== null ? resolve(byDefault) : byDefault
    const value = config[fieldOf(name)]
    assert.equal(value === null ? null : String(value), expected, name)
    const isNumber = kind === 'integer' || kind === 'proxies'
    if (value !== null) assert.equal(typeof value, isNumber ? 'number' : 'string', name)
  }
})

test('a word or a URL that a setting does not take is a fault that says what it takes', () => {
  for (const [name, value, message] of [
    ['SERVICE_SIGN_UP', 'maybe', /^SERVICE_SIGN_UP must be one of open, invited, closed$/],
    ['SERVICE_PUBLIC_URL', 'keys.example.com', /begins with http:\/\/ or https:\/\/$/],
    ['SERVICE_MAX_CONNECTIONS', '9', /from 10 to 1000000, not "9"$/],
  ] as const)
    assert.throws(
      () => readConfig({ [name]: value }),
      error =>
        error instanceof ConfigError && error.faults.length === 1 && message.test(error.faults[0] ?? ''),
      name,
    )
  assert.equal(
    readConfig({ SERVICE_PUBLIC_URL: 'https://a.example//' }).config.publicUrl,
    'https://a.example',
  )
})

test('SERVICE_TRUST_PROXY takes a number of proxies or their networks, and names a fault', () => {
  const read = (text: string) => readConfig({ SERVICE_TRUST_PROXY: text }).config.trustProxy
  assert.equal(read('2'), 2)
  const networks = read('10.42.7.0/24, 2001:DB8:7::/64,192.0.2.1,::ffff:192.0.2.2')
  assert.ok(typeof networks !== 'number')
  assert.deepEqual(networks.map(networkText), [
    '10.42.7.0/24',
    '2001:db8:7::/64',
    '192.0.2.1/32',
    '192.0.2.2/32',
  ])
  for (const [text, message] of [
    ['11', /^SERVICE_TRUST_PROXY must be a whole number from 0 to 10, not "11"$/],
    ['-1', /^SERVICE_TRUST_PROXY must be a whole number from 0 to 10, not "-1"$/],
    ['everybody', /^SERVICE_TRUST_PROXY must be .*: "everybody" must be an IPv4 or IPv6 address/],
    ['10.42.7.1/24', /^SERVICE_TRUST_PROXY must be .*: "10.42.7.1\/24" has bits set after its prefix of 24$/],
    ['10.42.7.0/24,', /^SERVICE_TRUST_PROXY must be .*: "" must be an IPv4 or IPv6 address/],
    ['10.42.7.0/33', /^SERVICE_TRUST_PROXY must be .*prefix length of at most 32$/],
    ['1,10.42.7.0/24', /^SERVICE_TRUST_PROXY must be .*: "1" must be an IPv4 or IPv6 address/],
    ['10.42.7.0/24 10.42.8.0/24', /^SERVICE_TRUST_PROXY must be /],
  ] as const)
    assert.throws(
      () => read(text),
      error =>
        error instanceof ConfigError && error.faults.length === 1 && message.test(error.faults[0] ?? ''),
      text,
    )
})

test('DATABASE_URL takes the forms in which Postgres names a socket', () => {
  for (const url of [
    'postgres://keyrail:secret@/keyrail?host=/run/postgresql',
    'postgres://keyrail:secret@%2Frun%2Fpostgresql/keyrail',
    'postgres:///keyrail?host=/run/postgresql&user=keyrail&password=secret',
  ])
    assert.equal(readConfig({ DATABASE_URL: url }).config.databaseUrl, url)
})

test('a certificate needs its key, and makes the default public URL one of https', () => {
  const tls = { SERVICE_TLS_CERT_FILE: '/a.crt', SERVICE_TLS_KEY_FILE: '/a.key' }
  assert.equal(readConfig(tls).config.publicUrl, 'https://localhost:8080')
  for (const [name, value] of Object.entries(tls))
    assert.throws(
      () => readConfig({ [name]: value }),
      /- SERVICE_TLS_CERT_FILE and SERVICE_TLS_KEY_FILE must both be set, or neither$/,
    )
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

test('an address of a database that cannot be meant is refused, and no piece of it is quoted', () => {
  for (const [url, message] of [
    ['postgres://keyrail:12/sEcret@db.example/keyrail', /encoded/],
    ['postgres://keyrail:12#sEcret@db.example/keyrail', /encoded/],
    ['postgres://keyrail:12?sEcret@db.example/keyrail', /encoded/],
    ['postgres://keyrail:sEcret@12/sEcret@db.example/keyrail', /encoded/],
    ['postgres://keyrail:100%sEcret@db.example/keyrail', /encoded/],
    ['postgres://keyrail:12/sEcret@a.example,b.example/keyrail', /encoded/],
    ['postgres://keyrail:12#sEcret@a.example:5432,b.example:5433/keyrail', /encoded/],
    ['postgres://keyrail:sEcret@a.example,/keyrail', /list its hosts/],
    ['postgres://keyrail:sEcret@a.example,b.example:99999/keyrail', /list its hosts/],
    ['postgres://keyrail:sEcret@a.example,b example/keyrail', /white space/],
    ['postgres:///keyrail?host=/var/run/a,/var/run/b', /list its hosts/],
    ['postgres://keyrail:sEcret@a.example/keyrail?target_session_attrs=primary', /target_session_attrs/],
  ] as const)
    assert.throws(
      () => readConfig({ DATABASE_URL: url }),
      error =>
        error instanceof ConfigError &&
        error.faults.length === 1 &&
        message.test(error.faults[0] ?? '') &&
        !/sEcret|keyrail:|12[/?#]/.test(error.message),
      url,
    )
  for (const url of [
    'postgres://keyrail:a%2Fb,c@db.example:5432/keyrail?sslmode=require',
    'postgres://keyrail:a@b@db.example/keyrail',
    'postgres:///keyrail?host=/var/run/postgresql&user=keyrail',
    'postgres://keyrail:a,b@a.example,b.example/keyrail',
    'postgresql://keyrail@a.example:5432,[::1]:5433,10.0.0.7/keyrail?sslmode=verify-full',
  ])
    assert.equal(readConfig({ DATABASE_URL: url }).config.databaseUrl, url)
})

test('a secret can be in a file; a setting given twice or a missing file is a fault', () => {
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

test('REDIS_URL takes one URL or several of a cluster, and its fault hides the password', () => {
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

test('settings cannot remove the bounds of passwords and sessions', () => {
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

test('mail goes into the data directory by default; a fault hides the password', () => {
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

test('white space at the ends of a value is no part of it, whatever the setting', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keyrail-config-')), 'token')
  writeFileSync(file, `\ufeff${'t'.repeat(40)}\r\n`)
  const values: Record<string, string> = {
    SERVICE_HOST: '0.0.0.0',
    SERVICE_PORT: '9090',
    SERVICE_PUBLIC_URL: 'https://keys.example.com',
    SERVICE_MAIL_URL: 'smtp://relay.example.com',
    SERVICE_MAIL_FROM: 'Keyrail <keys@example.com>',
    SERVICE_TRUST_PROXY: '10.0.0.0/8',
    SERVICE_SIGN_UP: 'closed',
    SERVICE_DATA_DIR: '/srv/keyrail',
    SERVICE_BOOTSTRAP_TOKEN_FILE: file,
    DATABASE_URL: 'postgres://keyrail:secret@db.example/keyrail',
    REDIS_URL: 'redis://localhost',
  }
  const clean = readConfig(values)
  assert.equal(clean.config.bootstrapToken, 't'.repeat(40))
  for (const [before, behind] of [
    ['', '\r'],
    [' ', '\t\r\n'],
  ]) {
    const env = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, `${before}${value}${behind}`]),
    )
    assert.deepEqual(readConfig(env), clean)
  }
  assert.equal(readConfig({ SERVICE_PUBLIC_URL: '\r' }).config.publicUrl, 'http://localhost:8080')
})

test('white space inside of a URL or a host is a fault that names the setting alone', () => {
  for (const [name, value] of [
    ['SERVICE_PUBLIC_URL', 'https://keys.example .com'],
    ['SERVICE_PUBLIC_URL', 'https://keys.example\r.com'],
    ['SERVICE_HOST', '0.0.0.0 8080'],
    ['SERVICE_MAIL_URL', 'smtp://user:sEc\tret@relay.example.com'],
    ['DATABASE_URL', 'postgres://keyrail:sEc\nret@db.example/keyrail'],
    ['REDIS_URL', 'redis://:sEc ret@a:7000'],
    ['SERVICE_CODEHOST_KEYS_URL', 'https://a.example/\r\nkeys'],
  ] as const)
    assert.throws(
      () => readConfig({ [name]: value }),
      error =>
        error instanceof ConfigError &&
        error.faults.some(fault => fault.startsWith(`${name} has white space`)) &&
        !/sEc|ret@/.test(error.message),
      name,
    )
  assert.equal(readConfig({ SERVICE_MAIL_URL: 'file:/srv/my mail' }).warnings.length, 0)
})

test('mail that leaves the machine with links to localhost is a warning', () => {
  const warningsOf = (env: Record<string, string>) => readConfig(env).warnings
  const elsewhere = { SERVICE_MAIL_URL: 'smtp://relay.example.com' }
  assert.match(warningsOf(elsewhere)[0] ?? '', /SERVICE_PUBLIC_URL is not set.*links .* lead to localhost/)
  for (const env of [
    { ...elsewhere, SERVICE_PUBLIC_URL: 'https://keys.example.com' },
    { SERVICE_MAIL_URL: 'smtp://localhost:1025' },
    { SERVICE_MAIL_URL: 'smtp://127.0.0.1:1025' },
    { SERVICE_MAIL_URL: 'smtp://[::1]:1025' },
    {},
  ])
    assert.deepEqual(warningsOf(env), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../packages/server/src/config.ts'
import { settings } from '../packages/server/src/settings.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { madePassword, makePerson } from '../packages/server/test/people.ts'
import { codeBlocks, documentsWithText, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/configuration.md')

interface Setting {
  kind: string
  default: string | null
  min?: number
  max?: number
  orWord?: string
  why: string
}

const bounds = ({ kind, min, max, orWord }: Setting) => {
  if (kind === 'url') return 'URL'
  if (kind === 'secret') return min === undefined ? kind : `secret, ${min} characters or more`
  if (kind === 'proxies') return `${min} to ${max}, or networks`
  if (orWord !== undefined) return `${min} to ${max}, or ${orWord}`
  return kind === 'integer' ? `${min} to ${max}` : kind
}

test('the table is the settings of the service, with their defaults and bounds', () => {
  const expected = Object.entries<Setting>(settings).map(([name, setting]) => [
    `\`${name}\``,
    setting.default === null ? 'unset' : `\`${setting.default}\``,
    bounds(setting),
    setting.why,
  ])
  assert.deepEqual(tableOf(page), expected)
})

const isTaken = (name: string, value: string): boolean => {
  try {
    readConfig({ [name]: value })
    return true
  } catch (error) {
    assert.ok(error instanceof ConfigError && error.message.includes(name), String(error))
    return false
  }
}

test('the bounds of the table are those that the service enforces', () => {
  const numbers = ['integer', 'proxies']
  const integers = Object.entries<Setting>(settings).filter(([, { kind }]) => numbers.includes(kind))
  assert.ok(integers.length >= 10)
  for (const [name, { min = 0, max = 0 }] of integers) {
    for (const value of [min, max]) assert.ok(isTaken(name, `${value}`), `${name} ${value}`)
    for (const value of [min - 1, max + 1]) assert.ok(!isTaken(name, `${value}`), `${name} ${value}`)
  }
  const secrets = Object.entries<Setting>(settings).filter(([, { kind }]) => kind === 'secret')
  assert.deepEqual(
    secrets.map(([name]) => name),
    Object.keys(shortest),
  )
  for (const [name, { min }] of secrets) {
    const value = shortest[name] ?? ''
    assert.ok(isTaken(name, value), name)
    if (min === undefined) continue
    assert.equal(value.length, min, name)
    assert.ok(!isTaken(name, value.slice(1)), name)
  }
})

/** The shortest value of each secret. The signing key has no public half. */
const shortest: Record<string, string> = {
  SERVICE_BOOTSTRAP_TOKEN: 'x'.repeat(32),
  SERVICE_SIGNING_KEY: [
    '-----BEGIN PRIVATE KEY-----',
    Buffer.concat([
      Buffer.from('3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420', 'hex'),
      Buffer.alloc(32, 1),
    ]).toString('base64'),
    '-----END PRIVATE KEY-----',
  ].join('\n'),
  SERVICE_ENCRYPTION_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64url'),
}

test('the faults that the page shows are those of the service', () => {
  const [shown] = codeBlocks(section(page, 'Rules').replaceAll(/^ {2}/gm, ''))
  assert.throws(
    () => readConfig({ SERVICE_PORT: 'eighty', SERVICE_BOOTSTRAP_TOKEN: 'short' }),
    error => error instanceof ConfigError && `Error: ${error.message}` === shown?.text,
  )
})

test('behind trusted proxies a session shows the address of X-Forwarded-For, else the proxy’s', async () => {
  const forwarded = '192.0.2.7'
  const addressAt = async (trustProxy: number) => {
    const { ask, query } = await startHarness({ trustProxy })
    const { email } = await makePerson(query)
    const body = { email, password: madePassword }
    const headers = { 'x-forwarded-for': `203.0.113.9, ${forwarded}` }
    return (await ask('POST', '/v1/auth/sessions', { body, headers })).body.ip
  }
  assert.deepEqual([await addressAt(1), await addressAt(0)], [forwarded, '127.0.0.1'])
})

test('every setting that a page names exists', () => {
  for (const { path, text } of documentsWithText()) {
    for (const [name] of text.matchAll(/\b(?:SERVICE|DATABASE)_[A-Z_]*[A-Z]\b/g)) {
      assert.ok(name in settings || name.replace(/_FILE$/, '') in settings, `${path}: ${name}`)
    }
  }
})

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
  why: string
}

const bounds = ({ kind, min, max }: Setting) => {
  if (kind === 'url') return 'URL'
  if (kind === 'secret') return `secret, ${min} characters or more`
  return kind === 'integer' ? `${min} to ${max}` : kind
}

test('the table is the settings of the service, with their defaults and bounds, and nothing else', () => {
  const expected = Object.entries<Setting>(settings).map(([name, setting]) => [
    `\`${name}\``,
    setting.default === null ? 'unset' : `\`${setting.default}\``,
    bounds(setting),
    setting.why,
  ])
  assert.deepEqual(tableOf(page), expected)
})

test('the faults that the page shows are those of the service', () => {
  const [shown] = codeBlocks(section(page, 'Rules').replaceAll(/^ {2}/gm, ''))
  assert.throws(
    () => readConfig({ SERVICE_PORT: 'eighty', SERVICE_BOOTSTRAP_TOKEN: 'short' }),
    error => error instanceof ConfigError && `Error: ${error.message}` === shown?.text,
  )
})

test('behind as many proxies as are trusted a session shows the address that they tell, and else the proxy’s', async () => {
  const told = '192.0.2.7'
  const addressAt = async (trustProxyHops: number) => {
    const { ask, query } = await startHarness({ trustProxyHops })
    const { email } = await makePerson(query)
    const body = { email, password: madePassword }
    const headers = { 'x-forwarded-for': `203.0.113.9, ${told}` }
    return (await ask('POST', '/v1/auth/sessions', { body, headers })).body.ip
  }
  assert.deepEqual([await addressAt(1), await addressAt(0)], [told, '127.0.0.1'])
  assert.ok(page.includes('Behind a proxy set `SERVICE_TRUST_PROXY`'))
})

test('no page names a setting that there is not', () => {
  for (const { path, text } of documentsWithText()) {
    for (const [name] of text.matchAll(/\b(?:SERVICE|DATABASE)_[A-Z_]*[A-Z]\b/g)) {
      assert.ok(name in settings || name.replace(/_FILE$/, '') in settings, `${path}: ${name}`)
    }
  }
})

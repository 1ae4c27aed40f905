import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settings } from '../packages/server/src/settings.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { issueKey, makeVendor } from '../packages/server/test/vendor.ts'
import { readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/policy-feed.md')
const harness = await startHarness()
const { ask } = harness

test('each credential and environment sees what the table says', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  await issueKey(harness, vendor, { env: 'test' })
  const seen = async (token: string, env: string) => {
    const url = `/v1/policy/snapshot?project_id=${vendor.projectId}${env}`
    const { status, body } = await ask('GET', url, { token })
    if (status !== 200) return `${status} \`${body.code}\``
    const envs = body.keys.map((key: { env: string }) => key.env).join(' and ')
    return envs === 'live and test' ? `both, \`${body.env}\`` : envs
  }
  const rows = []
  for (const [name, token] of [
    ['live secret key', vendor.live],
    ['test secret key', vendor.test],
  ] as const)
    rows.push([name, await seen(token, ''), await seen(token, '&env=live'), await seen(token, '&env=test')])
  assert.deepEqual(tableOf(section(page, 'What a caller sees')), rows)
})

test('every setting that the page names exists', () => {
  const named = [...page.matchAll(/`(SERVICE_\w+)`/g)].map(([, name]) => name ?? '')
  assert.ok(named.length >= 3)
  for (const name of named) assert.ok(name in settings, name)
})

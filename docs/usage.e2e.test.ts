import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { UsageReport } from '@keyrail/contract/usage'
import { routes as usageRoutes } from '../packages/server/src/usage/routes.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { issueKey, makeVendor } from '../packages/server/test/vendor.ts'
import { codeBlocks, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/usage.md')
const said = (number: number) => number.toLocaleString('en')
const run = promisify(execFile)

test('the curl lines of the worked example work as written, the report also twice', async () => {
  const harness = await startHarness()
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const address = await harness.app.listen({ host: '127.0.0.1', port: 0 })
  await harness.setStoreTime(new Date('2027-02-10T09:05:00.000Z'))
  const keyOf = async (limits: object): Promise<string> => {
    const body = { env: 'live', ...limits }
    return (await harness.ask('POST', '/v1/secret_keys', { token: vendor.live, body })).body.key
  }
  const keys = {
    SERVER_KEY: await keyOf({ preset: 'node' }),
    BILLING_KEY: await keyOf({ permissions: ['usage:read'] }),
  }
  const env = { ...process.env, ...keys, KEYRAIL: address, KEY_ID: id }
  const blocks = codeBlocks(section(page, 'A worked example'))
  assert.deepEqual(
    blocks.map(({ language }) => language),
    ['sh', 'json', 'sh', 'json', 'sh', 'json', 'sh', 'json'],
  )
  const known: Record<string, string> = {
    key_id: id,
    tenant_id: vendor.tenantId,
    project_id: vendor.projectId,
  }
  for (const again of [false, true])
    for (let i = 0; i < blocks.length; i += 2) {
      const { stdout } = await run('bash', ['-ec', blocks[i]?.text ?? ''], { env })
      const expected = JSON.parse(blocks[i + 1]?.text ?? '', (name, value) =>
        value === '…' ? known[name] : value,
      )
      assert.deepEqual(JSON.parse(stdout), expected, `${again ? 'again: ' : ''}${blocks[i]?.text}`)
    }
})

test('the bounds match the API', () => {
  const bounds = new Map(
    tableOf(section(page, 'How to report')).map(([what = '', bound = '']) => [what, bound]),
  )
  const { sample_rate, records } = UsageReport.properties
  const { count } = records.items.properties
  const rangeOf = (schema: object) => {
    const { minimum, maximum } = schema as { minimum: number; maximum: number }
    return `${minimum} to ${said(maximum)}`
  }
  const { minItems, maxItems } = records as unknown as { minItems: number; maxItems: number }
  assert.equal(bounds.get('`records` of a report'), `${minItems} to ${said(maxItems)}`)
  assert.ok(bounds.get('`count`')?.startsWith(rangeOf(count)))
  assert.ok(bounds.get('`sample_rate`')?.startsWith(rangeOf(sample_rate)))
})

test('the figures and their spans match the API', () => {
  const figures = tableOf(section(page, 'What the figures say')).map(([route, , , span]) => [route, span])
  const spanOf = ([name, { minimum, maximum, default: byDefault }]: [string, Record<string, number>]) =>
    `\`${name}\`, ${minimum} to ${maximum}, default ${byDefault}`
  const read = usageRoutes.filter(({ method }) => method === 'GET')
  assert.equal(figures.length, read.length)
  for (const [i, { method, path, query }] of read.entries()) {
    const span = Object.entries(
      (query as unknown as { properties: Record<string, Record<string, number>> }).properties,
    ).find(([name]) => name === 'days' || name === 'months')
    assert.equal(figures[i]?.[0], `\`${method} ${path}\``)
    assert.ok(span && figures[i]?.[1]?.startsWith(spanOf(span)), path)
  }
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { refusalStatus, serviceVerdicts } from '@keyrail/contract/verdicts'
import { KeyVerify } from '@keyrail/contract/verify'
import { serviceBudgets } from '../packages/server/src/platform/budgets.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { issueKey, makeSecretKey, makeTenant, makeVendor } from '../packages/server/test/vendor.ts'
import { monthly } from '../packages/server/test/verifying.ts'
import { codeBlocks, figuresMissing, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/any-language.md')
const run = promisify(execFile)
const codes = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

const harness = await startHarness()
const vendor = await makeVendor(harness)
const tenant = await makeTenant(harness, vendor, { external_id: 'acme' })
const address = await harness.app.listen({ host: '127.0.0.1', port: 0 })
const blocks = codeBlocks(section(page, 'A call'))
const node = await makeSecretKey(harness, vendor, { preset: 'node', project_ids: [vendor.projectId] })
const envOf = (key: string) => ({
  ...process.env,
  KEYRAIL: address,
  SERVER_KEY: node.key,
  PROJECT: vendor.projectId,
  CUSTOMER: key,
})
const issue = (more = {}) =>
  issueKey(harness, vendor, {
    tenant_id: tenant.id,
    scopes: ['orders:read'],
    meta: { plan: 'gold' },
    ...more,
  })
const textOf = (language: string): string =>
  blocks.find(block => block.language === language)?.text ?? assert.fail(language)

const folder = mkdtempSync(join(tmpdir(), 'keyrail-any-language-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the call of the page works as written, and gets the answer of the page', async () => {
  const { key, id } = await issue({ rate_limits: [monthly(100)] })
  const { stdout } = await run('bash', ['-ec', textOf('sh')], { env: envOf(key) })
  const heard = JSON.parse(stdout)
  const known = (name: string, value: unknown) =>
    value !== '…'
      ? value
      : {
          id,
          tenant_id: tenant.id,
          reset_ms: heard.limits[0].reset_ms,
          RateLimit: heard.headers.RateLimit,
        }[name]
  assert.deepEqual(heard, JSON.parse(textOf('json'), known))
})

for (const { language, command } of [
  { language: 'python', command: ['python3', 'verify.py'] },
  { language: 'go', command: ['go', 'run', 'verify.go'] },
]) {
  test(`the ${language} of the page verifies a key, and a revoked one`, async () => {
    const [program = '', ...options] = command
    writeFileSync(join(folder, options.at(-1) ?? ''), textOf(language))
    const { key, id } = await issue()
    const said = async () => {
      const env = { GOCACHE: join(folder, 'go'), GOPATH: join(folder, 'path'), ...envOf(key) }
      const { stdout } = await run(program, options, { cwd: folder, env })
      return stdout.split(/\s/)[0]
    }
    assert.equal(await said(), 'valid')
    await harness.ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
    assert.equal(await said(), 'revoked_key')
  })
}

test('the table of verdicts has those of the contract, in order, each with its status', () => {
  const rows = tableOf(section(page, 'Verdicts'))
  assert.deepEqual(rows.flatMap(([code = '']) => codes(code)).toSorted(), [...serviceVerdicts].toSorted())
  for (const [code = '', , status = ''] of rows)
    for (const name of codes(code)) {
      const expected =
        name === 'valid' ? '' : name === 'rate_limited' ? '429' : String(refusalStatus(name as 'unknown_key'))
      assert.equal(status, expected, name)
    }
})

test('the fields and the figures of the page are those of the service', () => {
  const fields = tableOf(section(page, 'A call')).flatMap(([name = '']) => codes(name))
  assert.deepEqual(fields, Object.keys(KeyVerify.properties))
  const seconds = `${serviceBudgets.countsMs / 1_000} s`
  assert.deepEqual(figuresMissing(section(page, 'Verdicts'), [seconds, '2,048', '90 days']), [])
})

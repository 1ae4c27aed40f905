import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { leakSourceMax, leakUrlMax } from '@keyrail/contract/leaks'
import { keptMs, unknownIdMs } from '../packages/server/src/leaks/codehost-keys.ts'
import { routes as leakRoutes } from '../packages/server/src/leaks/routes.ts'
import { drawToken } from '../packages/server/src/platform/crypto/token.ts'
import { codehost, makeCodehost, reportPath, signedReport } from '../packages/server/test/codehost.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { issueKey, makeVendor } from '../packages/server/test/vendor.ts'
import { codeBlocks, figuresMissing, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/leaks.md')
const run = promisify(execFile)
const harness = await startHarness()

test('the example code host and report work as written, and the key is revoked', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'keyrail-leaks-'))
  after(() => rmSync(cwd, { recursive: true, force: true }))
  const own = await startHarness({ codehostKeysFile: join(cwd, 'codehost-keys.json') })
  const vendor = await makeVendor(own)
  const { key, id } = await issueKey(own, vendor)
  const KEYRAIL = await own.app.listen({ host: '127.0.0.1', port: 0 })
  const [make, report, answer] = codeBlocks(section(page, 'Trying it'))
  const env = { ...process.env, KEYRAIL, LEAKED: key }
  await run('bash', ['-ec', make?.text ?? ''], { cwd, env })
  for (const _ of ['once', 'again']) {
    const { stdout } = await run('bash', ['-ec', report?.text ?? ''], { cwd, env })
    const expected = JSON.parse(answer?.text ?? '', (name, value) =>
      name === 'token_hash' ? hash('sha256', key) : value,
    )
    assert.deepEqual(JSON.parse(stdout), expected)
  }
  const shown = await own.ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.equal(shown.body.revoked_reason, 'leaked')
})

test('the pattern matches every credential with a default prefix, and nothing longer', () => {
  const [, pattern = ''] = /```text\n(.*)\n```/.exec(page) ?? []
  for (const prefix of ['kr_live', 'kr_test', 'krsk_live', 'krsk_test', 'krses']) {
    const token = drawToken(prefix, randomBytes)
    assert.equal(new RegExp(pattern).exec(`x=${token};`)?.[0], token)
    assert.doesNotMatch(`${token}0`, new RegExp(pattern))
  }
})

/** The request for each row of the table. */
const reports: Record<string, () => { body: string; headers: Record<string, string> }> = {
  'no signature, a malformed one or one that does not verify': () => ({
    ...signedReport([]),
    body: '[ ]',
  }),
  'a key id that is missing in the list, which was just read': () => signedReport([], makeCodehost()),
  'such an id within a minute of the last reading': () => signedReport([], makeCodehost()),
  'any id, while the list cannot be read': () => signedReport([]),
  'a compressed body': () => {
    const { body, headers } = signedReport([])
    return { body, headers: { ...headers, 'content-encoding': 'gzip' } }
  },
  'a body in chunks, without its length': () => {
    const { body, headers } = signedReport([])
    return { body, headers: { ...headers, 'transfer-encoding': 'chunked' } }
  },
  'a body larger than 5 MiB': () => signed('[]'.padEnd(5 * 1_048_576 + 1)),
  'a signed body that is not JSON': () => signed('{'),
  'a signed body that is not an array': () => signed('{}'),
  'a token that could not be looked up or revoked, after all others were': () =>
    signedReport([{ token: leaked }]),
  'anything else': () => signedReport([{ token: 'x' }]),
}
const signed = (body: string) => ({ body, headers: codehost.sign(body) })
let leaked = ''

test('reports are answered as in the table', async () => {
  leaked = (await issueKey(harness, await makeVendor(harness))).key
  const rows = tableOf(section(page, 'What becomes of a report'))
  assert.deepEqual(
    rows.map(([what]) => what),
    Object.keys(reports),
  )
  for (const [what = '', said = ''] of rows) {
    const unread = what.startsWith('any id')
    const fresh = what.includes('just read')
    const { ask, query } = unread
      ? await startHarness({ codehostKeysFile: '/nowhere/keys.json' })
      : fresh
        ? await startHarness()
        : harness
    const refuses = what.startsWith('a token that')
    if (refuses) await query('revoke update on api_keys from keyrail_app')
    const { status, body } = await ask('POST', reportPath, reports[what]?.())
    if (refuses) await query('grant update on api_keys to keyrail_app')
    const [, expected, code] = /^(\d+)(?: `(\w+)`)?/.exec(said) ?? []
    assert.deepEqual([what, status, body.code], [what, Number(expected), code])
  }
})

test('the figures match the service', () => {
  assert.equal(leakRoutes[0]?.bodyLimit, 5 * 1_048_576)
  assert.deepEqual([keptMs, unknownIdMs], [3_600_000, 60_000])
  const figures = [
    'an hour',
    'a minute',
    `${leakUrlMax.toLocaleString('en')} characters`,
    `${leakSourceMax}`,
    leakRoutes[0]?.path ?? '-',
  ]
  assert.deepEqual(figuresMissing(page, figures), [])
})

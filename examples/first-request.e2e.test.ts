import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { codeBlocks, readDocument, section } from '../docs/documents.ts'
import { Installation, type Serving } from '../packages/server/test/installation.ts'

const installation = new Installation()
const run = (env: Record<string, string>) => installation.run('sh', ['examples/first-request.sh'], env).ended

let service: Serving
before(async () => {
  service = await installation.serve()
})
after(() => installation.remove())

/** What differs from one run to the next. */
const masked = (text: string) =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replace(/(kr|krsk)_live_\w{4}\.\.\./g, '$1_live_...')
    .replace(/http:\S+ +/g, 'URL ')
    .replace(/ \S+\/first-request-key/g, ' FILE')
    .trim()

test('the first request is verified, and refused once its key is revoked', async () => {
  const { code, out, err } = await run({ KEYRAIL_URL: service.url })
  assert.equal(code, 0, out + err)
  assert.equal(err, '')
  const [, shown] = codeBlocks(section(readDocument('README.md'), 'A verified request'))
  assert.equal(masked(out), masked(shown?.text ?? ''))
  const file = join(installation.dataDir, 'first-request-key')
  assert.match(readFileSync(file, 'utf8'), /^krsk_live_\w+\n$/)
  assert.equal(statSync(file).mode & 0o077, 0)
})

test('it works a second time on the same service', async () => {
  const { code, out, err } = await run({ KEYRAIL_URL: service.url })
  assert.equal(code, 0, out + err)
})

test('without a service it ends with the command that starts one', async () => {
  const elsewhere = await run({ KEYRAIL_URL: 'http://127.0.0.1:1' })
  assert.equal(elsewhere.code, 1)
  assert.match(elsewhere.err, /^No answer from \S+\. Is the service running \(npm start\)\?$/m)
  const fresh = await run({ SERVICE_DATA_DIR: '/no/such/folder' })
  assert.equal(fresh.code, 1)
  assert.match(fresh.err, /bootstrap-token is missing\. Start the service first: npm start$/m)
})

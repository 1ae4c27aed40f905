import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { refusalStatus, serviceVerdicts } from '@keyrail/contract/verdicts'
import { KeyVerify } from '@keyrail/contract/verify'
import { serviceBudgets } from '../packages/server/src/platform/budgets.ts'
import { freePort } from '../packages/server/test/free-port.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { until } from '../packages/server/test/until.ts'
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

const samples = codeBlocks(section(page, 'The same in each'))
const sampleOf = (language: string): string =>
  samples.find(block => block.language === language)?.text ?? assert.fail(language)
const client = (name: string) => join(import.meta.dirname, '..', 'clients', name)

/** Asks the program of a sample with a key, without one, and with one that lacks the scope. */
async function answersOf(program: string, args: readonly string[], more: Record<string, string>) {
  // Both before the program, which might otherwise load its keys between the two.
  const { key } = await issue()
  const lacking = await issue({ scopes: [] })
  const port = await freePort()
  const env = {
    ...process.env,
    KEYRAIL_URL: address,
    KEYRAIL_SECRET_KEY: node.key,
    KEYRAIL_PROJECT: vendor.projectId,
  }
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...env, LISTEN: String(port), ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output += chunk
    })
  const ask = async (key?: string) => {
    const headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }) }
    const answer = await fetch(`http://127.0.0.1:${port}/orders`, { headers }).catch(() => null)
    return answer === null ? null : [answer.status, (await answer.text()).trim()]
  }
  try {
    const passes = async () => (await ask(key))?.[0] === 200
    await until(passes, 'a request passes').catch(error => assert.fail(`${error}: ${output}`))
    const statusOf = async (one?: string) => (await ask(one))?.[0]
    return [await ask(key), await statusOf(), await statusOf(lacking.key)]
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

test('the Go of the page protects a route', async () => {
  const text = `package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	keyrail "github.com/keyrail/keyrail/clients/go"
)

func main() {
${sampleOf('go')}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("LISTEN"), nil))
}
`
  const module = mkdtempSync(join(folder, 'module-'))
  writeFileSync(join(module, 'main.go'), text)
  const go = { cwd: module, env: { ...process.env, GOPROXY: 'off', GOFLAGS: '-mod=mod' } }
  const named = 'github.com/keyrail/keyrail/clients/go'
  await run('go', ['mod', 'init', 'orders'], go)
  await run('go', ['mod', 'edit', `-require=${named}@v0.1.0`, `-replace=${named}=${client('go')}`], go)
  await run('go', ['build', '-o', 'orders', '.'], go)
  assert.deepEqual(await answersOf(join(module, 'orders'), [], {}), [[200, 'acme'], 401, 403])
})

test('the Python of the page protects a route', async () => {
  const text = `import os, uvicorn
from fastapi import Depends, FastAPI
from keyrail import Keyring, Verdict
from keyrail.fastapi import RequireKey, install

${sampleOf('python')}

uvicorn.run(app, port=int(os.environ["LISTEN"]))
`
  writeFileSync(join(folder, 'orders.py'), text)
  const more = { PYTHONPATH: client('python'), PYTHONDONTWRITEBYTECODE: '1' }
  assert.deepEqual(await answersOf('/usr/bin/python3', ['orders.py'], more), [[200, '"acme"'], 401, 403])
})

test('what the page shows of nginx and Envoy stands in their files', () => {
  for (const [language, file] of [
    ['nginx', 'nginx.conf'],
    ['yaml', 'envoy.yaml'],
  ] as const) {
    const lines = new Set(
      readDocument(`deploy/guard/${file}`)
        .split('\n')
        .map(line => line.trim()),
    )
    for (const line of sampleOf(language)
      .split('\n')
      .map(one => one.trim()))
      assert.ok(lines.has(line) || line === 'location /orders {', `${file}: ${line}`)
  }
})

test('the samples of the README are those of the page', () => {
  const readme = codeBlocks(readDocument('README.md'))
  for (const language of ['go', 'python']) {
    const text = readme.find(block => block.language === language)?.text ?? ''
    for (const line of text.split('\n')) assert.ok(sampleOf(language).includes(line), line)
  }
})

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

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { makePerson } from '../../server/test/people.ts'
import { uniqueSlug } from '../../server/test/vendor.ts'
import { callSamples } from '../src/components/call-samples.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const checkout = join(import.meta.dirname, '..', '..', '..')
const run = promisify(execFile)
// With the packages of this checkout for those that a newcomer installs.
const folder = mkdtempSync(join(tmpdir(), 'keyrail-samples-'))
symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** What an empty list says to type, with the order in which one needs the other. */
const lists = [
  { path: '/projects', label: 'Create a project', read: '/v1/projects' },
  { path: '/tenants', label: 'Create a tenant', read: '/v1/tenants' },
  { path: '/keys', label: 'Create a key', read: '/v1/keys' },
]

/** Does what the page says, with the credential where a person has it. */
async function follow(name: string, code: string, secretKey: string): Promise<void> {
  const env = { PATH: process.env.PATH, KEYRAIL_SECRET_KEY: secretKey }
  if (name === 'curl') return void (await run('sh', ['-c', `${code} --fail-with-body`], { env }))
  const own = {
    ...env,
    HOME: process.env.HOME,
    GOCACHE: process.env.GOCACHE,
    PATH: `/usr/bin:${process.env.PATH}`,
  }
  if (name === 'Python') return void (await run('python3', ['-c', code], { env: own }))
  if (name === 'Go') {
    writeFileSync(join(folder, 'sample.go'), code)
    return void (await run('go', ['run', 'sample.go'], { cwd: folder, env: own }))
  }
  writeFileSync(join(folder, 'sample.ts'), code)
  await run(process.execPath, ['--conditions=keyrail-source', 'sample.ts'], { cwd: folder, env })
}

const begins = { curl: 'curl', TypeScript: 'createAdmin', Python: 'import json', Go: 'package main' }

for (const [name, begin] of Object.entries(begins)) {
  test(`what an empty list says to type in ${name} creates what it says`, async () => {
    const token = harness.deps.config.bootstrapToken ?? ''
    const body = { name: 'New', slug: uniqueSlug() }
    const made = (await harness.ask('POST', '/v1/workspaces', { token, body })).body
    const secretKey = String(made.secret_key.key)
    const as = await makePerson(harness.query, { workspaceId: made.id, role: 'owner', name: 'Ann' })
    const visit = await stage.visit('/app/', { as })
    for (const { path, label, read } of lists) {
      await visit.page.goto(`/app${path}`)
      const sample = visit.page.getByRole('figure', { name: label })
      await sample.getByText(name, { exact: true }).click()
      await sample.locator('code').filter({ hasText: begin }).waitFor()
      const shown = String(await sample.locator('code').textContent())
      const idOf = async (url: string) =>
        (await harness.ask('GET', url, { token: secretKey })).body.data[0]?.id
      const code = shown
        .replace('PROJECT_ID', await idOf('/v1/projects'))
        .replace('TENANT_ID', await idOf('/v1/tenants'))
      await follow(name, code, secretKey)
      const { data } = (await harness.ask('GET', read, { token: secretKey })).body
      assert.equal(data.length, 1, `${path} by ${name}`)
    }
    await visit.leave()
  })
}

test('a member reads how a backend creates it, and not to do it here', async () => {
  const token = harness.deps.config.bootstrapToken ?? ''
  const body = { name: 'New', slug: uniqueSlug() }
  const made = (await harness.ask('POST', '/v1/workspaces', { token, body })).body
  const as = await makePerson(harness.query, { workspaceId: made.id, role: 'member', name: 'Bob' })
  const visit = await stage.visit('/app/', { as })
  for (const { path, label } of lists) {
    await visit.page.goto(`/app${path}`)
    await visit.page.getByRole('figure', { name: label }).waitFor()
    assert.equal(
      await visit.page
        .locator('main')
        .getByText(/\bhere\b/)
        .count(),
      0,
      path,
    )
  }
  await visit.leave()
})

test('the request of a customer is the same in each language', async () => {
  const heard: (string | undefined)[] = []
  const api = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.end('ok')
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  const { port } = api.address() as AddressInfo
  const samples = callSamples(`http://127.0.0.1:${port}/payments`, 'kr_live_key')
  try {
    for (const { name, code } of samples) await follow(name === 'JavaScript' ? 'TypeScript' : name, code, '')
  } finally {
    api.close()
  }
  assert.deepEqual(heard, Array(samples.length).fill('GET /payments Bearer kr_live_key'))
})

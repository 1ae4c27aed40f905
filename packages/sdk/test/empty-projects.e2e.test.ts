import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveBy } from './child.ts'
import { documented, inFunction } from './documented.ts'
import { compileProject, type EmptyProject } from './empty-projects.ts'
import { drawKey } from './keys.ts'
import {
  announce,
  express5,
  fromElsewhere,
  oldCustomer,
  others,
  type Start,
  settings,
  starts,
} from './project-starts.ts'
import { startKeyrail } from './service.ts'

/**
 * Does what a reader does in an empty project: installs the archive beside a framework, and writes the code of the README
 * and `docs/sdk`, as module and as CommonJS. Compiles it as strictly as possible, and sends requests to what serves.
 */

const kinds = { module: 'm', CommonJS: 'c' } as const
/** The part of `wrangler types` that the page uses. */
const workerTypes = `declare module 'cloudflare:workers' {
  export const env: { KEYRAIL_URL: string; KEYRAIL_SECRET_KEY: string; KEYRAIL_PROJECT: string }
}
interface ExportedHandler {
  fetch?(request: Request, env: unknown, context: { waitUntil(work: Promise<unknown>): void }): Promise<Response>
}`

const { settings: given, issue, vendor, service } = await startKeyrail()
const { body: tenant } = await service.ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })
const { key } = await issue({ scopes: ['orders:read'] })
const env = {
  KEYRAIL_URL: given.url,
  KEYRAIL_SECRET_KEY: given.secretKey,
  KEYRAIL_PROJECT: given.project,
}

const isAt = (page: string, heading: string) => (block: { page: string; heading: string }) =>
  block.page === page && block.heading === heading
const codeAt = (page: string, heading: string): string =>
  documented.find(isAt(page, heading))?.code ?? assert.fail(`${page} has no code below "${heading}"`)

/** A program of each kind. Code with `await` must be in a function, and code with exports cannot be. */
function programsOf(name: string, lines: readonly string[]): [file: string, text: string][] {
  const code = lines.join('\n')
  const waits = /^(?:const .*= |for )?await /m.test(code)
  return [
    [`${name}.mts`, code],
    [`${name}.cts`, waits ? inFunction(code) : code],
  ]
}

const slug = (name: string) => name.toLowerCase().replaceAll(' ', '-')

/** Programs with the same packages are compiled together, once. */
const projects = new Map<string, Promise<EmptyProject>>()
function projectOf(beside: Start['beside']): Promise<EmptyProject> {
  const packages = JSON.stringify(beside)
  const alike = starts.filter(start => JSON.stringify(start.beside) === packages)
  const programs = alike.flatMap(({ name, page, heading, before, after }) =>
    programsOf(slug(name), [settings, announce, before, codeAt(page, heading), after]),
  )
  const project = projects.get(packages) ?? compileProject(beside, Object.fromEntries(programs))
  projects.set(packages, project)
  return project
}

test('every code block of the pages is in a project of this file', () => {
  const tried = [...starts, ...others]
  for (const block of documented)
    assert.ok(tried.some(isAt(block.page, block.heading)), `${block.page}: ${block.heading}`)
})

for (const [kind, letter] of Object.entries(kinds))
  for (const { name, heading, beside } of starts)
    test(`${name}, as ${kind}: "${heading}" compiles, and lets in only valid keys`, async () => {
      const { folder, complaints } = await projectOf(beside)
      assert.deepEqual(complaints, [])
      const program = join('dist', `${slug(name)}.${letter}js`)
      const { url, child } = await serveBy(process.execPath, [program], { cwd: folder, env })
      const ask = (presented: string) => fetch(url, { headers: { authorization: `Bearer ${presented}` } })
      const [wrong, right] = [await ask(drawKey()), await ask(key)]
      assert.deepEqual([wrong.status, right.status], [401, 200])
      assert.deepEqual(await right.json(), { customer: tenant.external_id })
      child.kill()
    })

test('beside keys of another system, an old key passes and a wrong one does not', async () => {
  const { folder, complaints } = await projectOf(express5)
  assert.deepEqual(complaints, [])
  const program = join('dist', `${slug(fromElsewhere)}.mjs`)
  const { url, child } = await serveBy(process.execPath, [program], { cwd: folder, env })
  const ask = (authorization?: string) =>
    fetch(url, { headers: authorization === undefined ? {} : { authorization } })
  const old = await ask('Bearer old-17')
  assert.deepEqual([old.status, await old.json()], [200, { customer: oldCustomer.externalId }])
  for (const wrong of [undefined, 'old-17', 'Bearer old-18', `Bearer ${drawKey()}`])
    assert.equal((await ask(wrong)).status, 401, wrong)
  child.kill()
})

test('code that serves nothing compiles, as module and as CommonJS', async () => {
  const programs = others.flatMap(({ page, heading, before }) => {
    // A worker is a module that exports its handler.
    const isWorker = heading === 'Workers'
    const lines = [isWorker ? '' : settings, before, codeAt(page, heading)]
    return programsOf(slug(heading), lines).slice(0, isWorker ? 1 : 2)
  })
  const files = { ...Object.fromEntries(programs), 'types.d.ts': workerTypes }
  assert.deepEqual((await compileProject({}, files)).complaints, [])
})

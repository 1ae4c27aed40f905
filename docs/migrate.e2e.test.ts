import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { formats } from '../packages/server/src/cli/keys/import/formats.ts'
import { ask, Installation, root } from '../packages/server/test/installation.ts'
import { until } from '../packages/server/test/until.ts'
import { codeBlocks, readDocument } from './documents.ts'

/** Runs the commands of the pages on migrating, and calls an API that is protected, with the keys that customers hold. */

const folder = mkdtempSync(join(tmpdir(), 'keyrail-migrate-'))
after(() => rmSync(folder, { recursive: true }))
cpSync(join(root, 'packages/server/test/imports'), folder, { recursive: true })
symlinkSync(join(root, 'bin/keyrail.mjs'), join(folder, 'keyrail'))
chmodSync(folder, 0o755)

const keyOf = (name: string) => `old_${name}_5uQ2vXc8LmZ1tRb7YwKd`
/** The keys that a page moves, by the names in them, with their customers. */
const moved: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'digests.md': {
    hex: 'org_hex',
    upper: 'org_upper',
    base64: 'org_base64',
    url: 'org_url',
    named: 'org_named',
    bytea: 'org_bytea',
    plain: 'org_plain',
  },
  'unkey.md': { unkey: 'org_unkey' },
  'better-auth.md': { better: 'user_7' },
  'zuplo.md': { zuplo: 'acme-corp' },
  'kong.md': { kong: 'org_kong', kong2: 'org_kong', kong3: 'initech' },
  'aws-api-gateway.md': { aws2: 'org_aws2' },
}
/** Files of formats that a page names and has no command for. */
const alike = { 'unkey-table.csv': 'unkey', 'kong-admin.ndjson': 'kong', 'aws.csv': 'aws' } as const
const admin = '84a73fb8-50fc-44a7-a4d5-aa17728ee83f'
const movedAlike = { table: 'org_table', admin, ttl: admin, aws: 'org_aws' }

/** A service with a workspace and an empty project. */
async function startService() {
  const installation = new Installation()
  after(() => installation.remove())
  const { url } = await installation.serve()
  const post = async (path: string, token: string, body: object) =>
    (await ask(`${url}${path}`, { token, body }))?.body
  const workspace = await post('/v1/workspaces', installation.token, { name: 'Acme', slug: 'acme' })
  const secretKey: string = workspace.secret_key.key
  const project = (await post('/v1/projects', secretKey, { name: 'Payments', slug: 'payments' })).id as string
  const env = {
    KEYRAIL_URL: url,
    KEYRAIL_SECRET_KEY: secretKey,
    KEYRAIL_PROJECT: project,
    PROJECT: project,
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    PORT: '0',
  }
  return {
    run: async (text: string) => {
      const ended = await installation.run('sh', ['-euc', text], env, folder).ended
      assert.ok(!(ended.out + ended.err).includes('5uQ2vXc8LmZ1tRb7YwKd'), 'a key is shown')
      return ended
    },
    /** Starts the example of a protected API, which knows all keys then. */
    async startApi(): Promise<(key: string) => Promise<string>> {
      const api = installation.run(process.execPath, ['bin/node.mjs', 'examples/vendor-api/server.ts'], env)
      const address = /http:\/\/\S+/
      await until(() => address.test(api.output.out) || api.child.exitCode !== null)
      const at = address.exec(api.output.out)?.[0] ?? assert.fail(api.output.err)
      return async key => {
        const answer = await ask(`${at}/payments`, { token: key })
        return answer?.status === 200 ? answer.body.customer : `${answer?.status} ${answer?.body.code}`
      }
    },
  }
}

const first = await startService()
const all: Record<string, string> = { ...movedAlike }

for (const [page, keys] of Object.entries(moved)) {
  test(`the commands of ${page} import its keys`, async () => {
    const blocks = codeBlocks(readDocument(`docs/migrate/${page}`)).filter(
      ({ language }) => language === 'sh',
    )
    let created = 0
    for (const { text } of blocks) {
      const { out, err } = await first.run(text)
      created += Number(/^Imported: .* (\d+) new/m.exec(out)?.[1] ?? assert.fail(out + err))
    }
    assert.equal(created, Object.keys(keys).length)
    Object.assign(all, keys)
  })
}

test('every format has keys that move', async () => {
  for (const [file, format] of Object.entries(alike)) {
    const text = `keyrail keys import ${file} --format ${format} --project "$PROJECT" --env live --create-tenants --yes`
    const { code, err } = await first.run(text)
    assert.equal(code, 0, err)
  }
  for (const [name, { page }] of Object.entries(formats)) assert.ok(page in moved, name)
})

test('a protected API accepts each old key as its customer', async () => {
  const customerOf = await first.startApi()
  for (const [name, customer] of Object.entries(all))
    assert.equal(await customerOf(keyOf(name)), customer, name)
  assert.equal(await customerOf(keyOf('off')), '401 unknown_key')
})

/** The lines of an export as the other service has them: with its own ids, and in their order. */
const linesOf = (file: string) =>
  readFileSync(join(folder, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
    .map(({ id: _, project_id: _p, ...line }) => line)
    .toSorted((a, b) => String(a.digest).localeCompare(String(b.digest)))

test('an export, imported into an empty service, is exported the same, and its keys work there', async () => {
  const [back, again] = codeBlocks(readDocument('docs/migrate/README.md')).map(({ text }) => text)
  assert.equal((await first.run(back ?? '')).code, 0)
  const second = await startService()
  const imported = await second.run(again ?? '')
  assert.equal(imported.code, 0, imported.err)
  const exported = await second.run('keyrail keys export second.ndjson')
  assert.equal(exported.code, 0, exported.err)
  assert.equal(linesOf('keys.ndjson').length, Object.keys(all).length + 1)
  assert.deepEqual(linesOf('second.ndjson'), linesOf('keys.ndjson'))
  const customerOf = await second.startApi()
  for (const [name, customer] of Object.entries(all))
    assert.equal(await customerOf(keyOf(name)), customer, name)
})

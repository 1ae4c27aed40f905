import assert from 'node:assert/strict'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { drawKey } from './keys.ts'
import { buildNext } from './next-app.ts'
import { installPacked } from './packed.ts'
import { installNext, nextFolder, olderNext } from './runtimes.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/** The older Nexts that are meant, each with the installed package, built and served. `next-server` has the newest. */

const { settings, issue, vendor, service } = await startKeyrail()

const app = {
  'app/layout.js': `export default ({ children }) => children`,
  'app/protection.js': `import { createKeyrail } from '@keyrail/sdk'
    export function protection() {
      const { KEYRAIL_URL: url, KEYRAIL_SECRET_KEY: secretKey, KEYRAIL_PROJECT: project } = process.env
      const { keys, idempotency } = createKeyrail({ url, secretKey, project })
      return { keyring: keys, idempotency }
    }`,
  'app/reports/[year]/route.js': `import { withKey } from '@keyrail/sdk/next'
    import { protection } from '../../protection.js'
    export const GET = withKey(protection, async (_request, { apiKey }, { params }) =>
      Response.json({ customer: apiKey.tenantId, ...(await params) }))
    let made = 0
    export const POST = withKey(protection, () => Response.json({ id: ++made }, { status: 201 }))`,
}

for (const major of olderNext) {
  test(`Next ${major} builds without a service, and serves keys from a live policy`, async () => {
    await installNext(major)
    const { folder } = await installPacked(join(nextFolder(major), '.work'))
    for (const [path, text] of Object.entries(app)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const installed = join(nextFolder(major), 'node_modules', 'next')
    const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    assert.match(version, new RegExp(`^${major}\\.`))
    const next = join(installed, 'dist', 'bin', 'next')
    const serve = await buildNext(next, folder)
    const { url, child, ended, output } = await serve(settings)
    const ask = (key: string, init: RequestInit = {}) =>
      fetch(`${url}/reports/2026`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, ...init.headers },
      })
    const { id, key } = await issue()
    assert.equal((await ask(drawKey())).status, 401, output())
    const read = await ask(key)
    assert.deepEqual(
      [read.status, await read.text()],
      [200, JSON.stringify({ customer: vendor.tenantId, year: '2026' })],
      output(),
    )
    for (const replayed of [null, 'true']) {
      const made = await ask(key, { method: 'POST', headers: { 'idempotency-key': `once-${major}` } })
      assert.deepEqual([made.status, made.headers.get('idempotent-replayed')], [201, replayed])
    }
    // A kept answer of the feed would go on accepting the key, and hold the whole policy in a file.
    await service.ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
    await until(async () => (await ask(key)).status === 401, 'the revoked key is refused')
    child.kill('SIGTERM')
    await ended
    const kept = globSync('.next/**/*', { cwd: folder, withFileTypes: true }).filter(file => file.isFile())
    assert.ok(kept.length > 0)
    for (const { parentPath, name } of kept)
      assert.ok(!readFileSync(join(parentPath, name)).includes(vendor.tenantId), name)
  })
}

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Served, serveBy } from './child.ts'
import { drawKey } from './keys.ts'
import { installPacked } from './packed.ts'
import { programFor } from './runtime-program.ts'
import { installRuntimes, runtimePath, runtimesFolder } from './runtimes.ts'
import { startKeyrail } from './service.ts'

/** The installed package on every supported runtime, with the real service. */

await installRuntimes()
const { settings, issue, vendor } = await startKeyrail()
const { folder } = await installPacked(tmpdir())
const cacheDir = join(folder, 'cache')
const month = { id: 'month', limit: 1_000, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }
const { key } = await issue({ rate_limits: [month] })

/** Permissions for runtimes that need them for a disk. */
const denoMay = (...rights: readonly string[]) => [
  ...['run', '--no-prompt', '--no-lock', '--no-remote', '--cached-only', '--node-modules-dir=manual'],
  '--allow-net=127.0.0.1',
  ...rights,
]
const runtimes: { name: string; command: string; args?: readonly string[] }[] = [
  { name: 'the Node that runs this', command: process.execPath },
  { name: 'the oldest Node 20', command: runtimePath('oldestNode') },
  { name: 'Node 20', command: runtimePath('node20') },
  { name: 'Node 22', command: runtimePath('node22') },
  { name: 'Bun', command: runtimePath('bun') },
  {
    name: 'Deno',
    command: runtimePath('deno'),
    args: denoMay('--allow-sys', `--allow-read=${folder}`, `--allow-write=${cacheDir}`),
  },
]

let programs = 0
async function start(command: string, args: readonly string[] = []): Promise<Served> {
  const file = join(folder, `program-${programs++}.mjs`)
  writeFileSync(file, programFor({ settings, cacheDir }))
  const home = join(folder, 'home')
  mkdirSync(home, { recursive: true })
  const env = { HOME: home, DENO_DIR: home, DENO_NO_UPDATE_CHECK: '1' }
  return serveBy(command, [...args, file], { cwd: folder, env })
}

async function ask(
  url: string,
  { presented, idempotencyKey }: { presented?: string | undefined; idempotencyKey?: string } = {},
) {
  const response = await fetch(url, {
    headers: {
      ...(presented !== undefined && { authorization: `Bearer ${presented}` }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(idempotencyKey !== undefined && { method: 'POST', body: '{"amount":1}' }),
  })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

/** Ends the program by its route. */
async function end({ url, ended, output }: Served): Promise<{ notices: string[]; node: string }> {
  const { body } = await ask(`${url}/end`)
  assert.equal(await ended, 0, output())
  return body
}

for (const { name, command, args } of runtimes) {
  test(`${name}: keys, limits and idempotency work, and the process ends`, async () => {
    const served = await start(command, args)
    const { url } = served
    const codes = []
    for (const presented of [undefined, 'x', drawKey()]) {
      const { status, body } = await ask(url, { presented })
      codes.push([status, body.code])
    }
    assert.deepEqual(codes, [
      [401, 'missing_key'],
      [401, 'malformed_key'],
      [401, 'unknown_key'],
    ])
    const read = await ask(url, { presented: key })
    assert.deepEqual([read.status, read.body], [200, { tenantId: vendor.tenantId }])
    assert.match(read.headers.get('ratelimit') ?? '', /^"month";r=\d+/)
    for (const replayed of [null, 'true']) {
      const { status, body, headers } = await ask(url, { presented: key, idempotencyKey: `once on ${name}` })
      assert.deepEqual([status, body, headers.get('idempotent-replayed')], [201, { calls: 1 }, replayed])
    }
    const { notices, node } = await end(served)
    // A notice would show here if one runtime could not read another's file.
    assert.deepEqual(notices, [])
    const host = hostname().replace(/[^A-Za-z0-9._:-]/g, '')
    assert.ok(node.startsWith(`${host}:${served.child.pid}.`), node)
    assert.ok(readdirSync(cacheDir).length > 0)
  })
}

test('Deno: without permission for the disk, keys are served without it, with a notice', async () => {
  const served = await start(runtimePath('deno'), denoMay())
  assert.equal((await ask(served.url, { presented: key })).status, 200)
  const { notices, node } = await end(served)
  assert.deepEqual(notices, ['disk_unusable'])
  assert.match(node, /^node:/)
})

test('the lockfiles pin every package by its hash, and name no registry', () => {
  for (const folder of [runtimesFolder, join(runtimesFolder, '..', 'bundling')]) {
    const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
    const installed = Object.entries<{ integrity?: string; resolved?: string }>(packages).filter(
      ([path]) => path !== '',
    )
    assert.ok(installed.length > 20)
    for (const [path, { integrity, resolved }] of installed) {
      assert.match(integrity ?? '', /^sha512-/, path)
      assert.equal(resolved, undefined, path)
    }
  }
})

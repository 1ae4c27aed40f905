import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { archiveOf, folderOf, guardFileOf } from '@keyrail/contract/packages'
import { list } from 'tar'
import manifest from '../contract/package.json' with { type: 'json' }
import { declareTypes as declareEmbed } from '../embed/build.ts'
import { declareTypes as declareSdk } from '../sdk/declare.ts'
import { writeArchives } from './archives.ts'

const checkout = join(import.meta.dirname, '..', '..')
const work = mkdtempSync(join(tmpdir(), 'keyrail-archives-'))
after(() => rmSync(work, { recursive: true, force: true }))

const written = async (name: string) => {
  const into = join(work, name)
  await writeArchives(checkout, into)
  return join(into, 'packages')
}

test('the archives have the same bytes whenever they are made, whatever the umask is', async () => {
  const first = await written('first')
  const umask = process.umask(0o077)
  after(() => process.umask(umask))
  const second = await written('second')
  process.umask(umask)
  const archives = (['sdk', 'embed', 'guard', 'go', 'python'] as const).map(archiveOf)
  const files = readdirSync(join(checkout, 'deploy/guard')).map(guardFileOf)
  const names = [...archives, ...files].toSorted()
  for (const folder of [first, second]) assert.deepEqual(readdirSync(folder).toSorted(), names)
  for (const name of names)
    assert.ok(readFileSync(join(first, name)).equals(readFileSync(join(second, name))))
})

test('npm installs the SDK from its archive, with its types', async () => {
  const folder = await written('installed')
  const project = join(work, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
  const npm = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund']
  execFileSync('npm', [...npm, join(folder, archiveOf('sdk'))], { cwd: project })
  const asked = `import { createKeyrail } from '@keyrail/sdk'; console.log(typeof createKeyrail)`
  const node = ['--input-type=module', '--eval', asked]
  assert.equal(execFileSync(process.execPath, node, { cwd: project, encoding: 'utf8' }), 'function\n')
  const home = join(project, 'node_modules/@keyrail/sdk')
  assert.match(readFileSync(join(home, 'dist/cjs/index.d.ts'), 'utf8'), /createKeyrail/)
})

test('npx runs the guard from its archive, which is one file without dependencies', async () => {
  const file = join(await written('guard'), archiveOf('guard'))
  const paths: string[] = []
  await list({ file, onReadEntry: entry => void paths.push(entry.path) })
  const code = paths.filter(path => path.startsWith('package/dist/') && !path.endsWith('/'))
  assert.deepEqual(code, ['package/dist/keyrail-guard.js'])
  const home = join(work, 'home')
  mkdirSync(home)
  const npx = ['--yes', '--offline', '--package', file, 'keyrail-guard']
  const env = { ...process.env, npm_config_cache: join(home, 'cache'), HOME: home }
  const run = (...args: string[]) => spawnSync('npx', [...npx, ...args], { cwd: home, env, encoding: 'utf8' })
  assert.equal(run('--version').stdout.trim(), manifest.version)
  const { status, stderr } = run()
  assert.equal(status, 1)
  assert.match(stderr, /^Error: KEYRAIL_SECRET_KEY is not set$/m)
})

const pathsIn = async (file: string) => {
  const paths: string[] = []
  await list({ file, onReadEntry: entry => void paths.push(entry.path) })
  return paths
}

test('the archive of a client has its sources, page and license, and nothing of its tests', async () => {
  const folder = await written('clients')
  for (const [name, needed] of [
    ['go', ['go.mod', 'keys.go', 'README.md', 'LICENSE']],
    ['python', ['pyproject.toml', 'keyrail/__init__.py', 'keyrail/py.typed', 'README.md', 'LICENSE']],
  ] as const) {
    const paths = await pathsIn(join(folder, archiveOf(name)))
    for (const path of needed) assert.ok(paths.includes(`${folderOf(name)}/${path}`), path)
    const odd = paths.filter(path => /test|driver|__pycache__|conformance/.test(path))
    assert.deepEqual(odd, [], name)
  }
})

test('the archive of the widget has what its package.json names', async () => {
  const file = join(await written('widget'), archiveOf('embed'))
  const paths = new Set<string>()
  await list({ file, onReadEntry: entry => void paths.add(entry.path) })
  const { exports } = JSON.parse(readFileSync(join(checkout, 'packages/embed/package.json'), 'utf8'))
  const named = JSON.stringify(exports).matchAll(/"\.\/(dist\/[^"]+)"/g)
  for (const [, path] of named) assert.ok(paths.has(`package/${path}`), path)
})

for (const [name, declareTypes] of [
  ['sdk', declareSdk],
  ['embed', declareEmbed],
] as const)
  test(`the types of the package ${name} in the checkout are those of its sources`, async () => {
    const into = join(work, `types-${name}`)
    await declareTypes(into)
    const kept = join(checkout, 'packages', name, 'types')
    const namesIn = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
    assert.deepEqual(namesIn(kept), namesIn(into))
    for (const file of namesIn(into).filter(path => path.endsWith('.ts')))
      assert.equal(
        readFileSync(join(kept, file), 'utf8'),
        readFileSync(join(into, file), 'utf8'),
        `${file}: run npm run build -w packages/${name}`,
      )
  })

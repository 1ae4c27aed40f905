import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const checkout = join(import.meta.dirname, '..')
const place = mkdtempSync(join(tmpdir(), 'keyrail-release-'))
after(() => rmSync(place, { recursive: true, force: true }))
const clone = join(place, 'keyrail')
const packages = join(clone, 'node_modules')
const git = (...args: string[]) => execFileSync('git', args, { cwd: clone, encoding: 'utf8' })

// What is here, committed or not, in one new commit.
execFileSync('git', ['clone', '-q', '--no-hardlinks', checkout, clone])
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
  cwd: checkout,
  encoding: 'utf8',
})
const present = tracked.split('\0').filter(path => path !== '' && existsSync(join(checkout, path)))
git('rm', '-rq', '.')
execFileSync('tar', ['-C', clone, '-xf', '-'], {
  input: execFileSync('tar', ['-C', checkout, '-cf', '-', '--null', '-T', '-'], {
    input: present.join('\0'),
    maxBuffer: 512 * 1_048_576,
  }),
})
const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
git('add', '-A')
git(...author, 'commit', '-qm', 'As it is', '--allow-empty')
// Its packages link to the clone's own workspaces.
execFileSync('cp', ['-a', join(checkout, 'node_modules'), packages])
for (const place of globSync('packages/*/node_modules', { cwd: checkout }))
  execFileSync('cp', ['-a', join(checkout, place), join(clone, place)])

/** Runs the command in the clone, as a maintainer does. */
const release = (...args: string[]) =>
  spawnSync('npm', ['run', '--silent', 'release', '--', ...args], { cwd: clone, encoding: 'utf8' })

test('a changed file, another version and a missing section are reported, without a folder', () => {
  const folder = join(place, 'refused')
  const sdk = join(clone, 'packages/sdk/package.json')
  const before = readFileSync(sdk, 'utf8')
  writeFileSync(sdk, before.replace(/"version": "[^"]+"/, '"version": "9.9.9"'))
  const changelog = readFileSync(join(clone, 'CHANGELOG.md'), 'utf8')
  writeFileSync(join(clone, 'CHANGELOG.md'), changelog.replaceAll(/^## \d/gm, '## Before 0'))
  const { status, stderr } = release(folder)
  git('checkout', '-q', '.')
  assert.equal(status, 1)
  assert.match(stderr, /- packages\/sdk\/package\.json has the version 9\.9\.9, and package\.json \d/)
  assert.match(stderr, /- Commit or remove what no commit has: CHANGELOG\.md, packages\/sdk\/package\.json\./)
  assert.match(stderr, /- CHANGELOG\.md has no section "## \d+\.\d+\.\d+" with text\./)
  assert.equal(existsSync(folder), false)
})

test('a release has the service, both packages, the bill of materials, changes and checksums', () => {
  const folder = join(place, 'release')
  const { status, stdout, stderr } = release(folder)
  assert.equal(status, 0, stderr)
  const { version } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'))
  assert.deepEqual(readdirSync(folder).toSorted(), [
    'CHANGES.md',
    'SHA256SUMS',
    `keyrail-${version}.cdx.json`,
    `keyrail-${version}.tar.gz`,
    `keyrail-embed-${version}.tgz`,
    `keyrail-guard-${version}.tgz`,
    `keyrail-sdk-${version}.tgz`,
  ])
  assert.equal(readFileSync(join(folder, 'SHA256SUMS'), 'utf8'), stdout)
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: folder })
  const filesOf = (name: string) =>
    execFileSync('tar', ['-tzf', join(folder, name)], { encoding: 'utf8', maxBuffer: 64 * 1_048_576 })
      .trim()
      .split('\n')
  const service = filesOf(`keyrail-${version}.tar.gz`)
  for (const file of git('ls-files').trim().split('\n'))
    assert.ok(service.includes(`keyrail-${version}/${file}`), file)
  for (const name of ['sdk', 'embed', 'guard'])
    assert.ok(
      filesOf(`keyrail-${name}-${version}.tgz`).some(file => file.startsWith('package/dist/')),
      name,
    )
  const bill = JSON.parse(readFileSync(join(folder, `keyrail-${version}.cdx.json`), 'utf8'))
  const names: string[] = bill.components.map(({ purl }: { purl: string }) => purl)
  assert.equal(bill.bomFormat, 'CycloneDX')
  assert.ok(names.some(name => name.startsWith('pkg:npm/pg@')))
  for (const tool of ['%40biomejs/biome', '%40keyrail/bench', 'autocannon'])
    assert.ok(!names.some(name => name.startsWith(`pkg:npm/${tool}@`)), tool)
  assert.match(readFileSync(join(folder, 'CHANGES.md'), 'utf8'), /^- .+/m)
  assert.equal(git('status', '--porcelain'), '', 'a release leaves the checkout as it was')
  const again = release(folder)
  assert.deepEqual([again.status, /EEXIST/.test(again.stderr)], [1, true], 'an existing folder stays')
})

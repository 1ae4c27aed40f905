import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readChanges } from './changed.ts'

/** A clone with a branch of one commit and of one file that is not committed. */
function branch(t: TestContext) {
  const place = mkdtempSync(join(tmpdir(), 'keyrail-changed-'))
  t.after(() => rmSync(place, { recursive: true, force: true }))
  const [shared, clone] = [join(place, 'shared'), join(place, 'clone')]
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', clone, ...author, ...args], { encoding: 'utf8' })
  const commit = (name: string) => {
    writeFileSync(join(clone, name), name)
    git('add', '-A')
    git('commit', '-qm', name)
  }
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', shared])
  execFileSync('git', ['clone', '-q', shared, clone], { stdio: 'ignore' })
  git('checkout', '-qB', 'main')
  commit('first.ts')
  git('push', '-q', '-u', 'origin', 'main')
  const base = git('rev-parse', 'HEAD').trim()
  git('checkout', '-qb', 'work')
  commit('second.ts')
  writeFileSync(join(clone, 'third.ts'), '')
  return { clone, base, git }
}

test('what differs from main is changed, on a branch that was pushed too', t => {
  const { clone, base, git } = branch(t)
  const changes = { base, files: ['second.ts', 'third.ts'] }
  assert.deepEqual(readChanges(clone), changes)
  git('push', '-q', '-u', 'origin', 'work')
  assert.deepEqual(readChanges(clone), changes)
})

test('outside of a repository it fails, rather than finding no change', t => {
  const { clone } = branch(t)
  rmSync(join(clone, '.git'), { recursive: true })
  assert.throws(() => readChanges(clone), /not a git repository/)
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const checkout = join(import.meta.dirname, '..')
const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}
const commands = ['bench', 'build', 'check', 'demo', 'drills', 'pictures', 'reference', 'release', 'test']
/** The first two have the help of `keyrail`, two take the options of `test`, and one takes none. */
const others = ['dev:service', 'start', 'test:all', 'test:e2e', 'build:dashboard']

const run = (name: string, ...args: string[]) =>
  spawnSync('npm', ['run', '--silent', name, '--', ...args], { cwd: checkout, encoding: 'utf8' })

/** The usage begins with the command, and has a line for it alone. */
const usage = (name: string) => new RegExp(`^npm (run )?${name}( -- [A-Z]+)?   +\\w`, 'm')

for (const name of commands) {
  test(`npm run ${name} -- --help prints the usage, and does nothing`, () => {
    const { status, stdout, stderr } = run(name, '--help')
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, usage(name))
    assert.equal(existsSync(join(checkout, '--help')), false)
  })

  test(`npm run ${name} refuses an option that it does not take, in words`, () => {
    const { status, stdout, stderr } = run(name, '--no-such')
    // A bench says with 2 that its figures are unstable.
    assert.deepEqual([status, stdout], [name === 'bench' ? 1 : 2, ''])
    assert.match(stderr, /^Unknown option '--no-such'/)
    assert.doesNotMatch(stderr, /^ +at /m)
  })
}

test('a command that takes no more arguments refuses one too many', () => {
  const { status, stderr } = run('demo', 'again')
  assert.equal(status, 2)
  assert.match(stderr, /^"again" is one argument too many\.\n\nnpm run demo /)
})

test('every command of package.json is among these', () => {
  assert.deepEqual(Object.keys(scripts).toSorted(), [...commands, ...others].toSorted())
})

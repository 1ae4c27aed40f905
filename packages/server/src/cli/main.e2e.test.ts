import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { Installation, root } from '../../test/installation.ts'

describe('keyrail', () => {
  const installation = new Installation()
  after(() => installation.remove())
  const run = (...args: string[]) => installation.start(args).ended

  test('--version prints the version of the checkout', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.equal((await run('--version')).out, `${version}\n`)
  })

  test('every command prints its help, without a usable configuration', async () => {
    const commands = [
      [],
      ['serve'],
      ['dev'],
      ['migrate'],
      ['doctor'],
      ['backup'],
      ['restore'],
      ['secret-keys'],
      ['secret-keys', 'create'],
      ['workspace'],
      ['workspace', 'delete'],
    ]
    for (const command of commands) {
      const { code, out, err } = await installation.start([...command, '--help'], { SERVICE_PORT: 'x' }).ended
      assert.deepEqual([code, err], [0, ''], command.join(' '))
      assert.match(out, new RegExp(`^Usage: keyrail ${[...command, '\\[options\\]'].join(' ')}`))
      for (const line of out.split('\n')) assert.ok(line.length <= 120, line)
    }
  })

  test('an unknown command or option is refused with a hint', async () => {
    for (const args of [['sreve'], ['doctor', '--jsn']]) {
      const { code, err } = await run(...args)
      assert.equal(code, 1)
      assert.match(err, /^error: unknown (command|option) .*\n\(Did you mean (serve|--json)\?\)/)
    }
  })
})

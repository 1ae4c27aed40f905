import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../packages/server/test/installation.ts'

const folder = join(root, 'deploy/systemd')
const units = readdirSync(folder)
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
const text = textOf('keyrail.service')

function analyze(...args: string[]): { status: number | null; out: string } {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  return { status, out: stdout + stderr }
}

for (const name of units) {
  test(`systemd-analyze rates the exposure of ${name} at 2.0 or less`, () => {
    const rated = analyze('security', '--offline=true', '--threshold=20', join(folder, name))
    assert.equal(rated.status, 0, rated.out)
    assert.match(rated.out, new RegExp(`Overall exposure level for ${name}: [01]\\.\\d`))
  })

  test(`systemd understands every line of ${name}`, () => {
    const temp = mkdtempSync(join(tmpdir(), 'keyrail-unit-'))
    try {
      // The program must exist, at a path without spaces.
      const checkout = join(temp, 'checkout')
      symlinkSync(root, checkout)
      const here = join(temp, name)
      writeFileSync(here, textOf(name).replaceAll('/opt/keyrail', checkout))
      const verified = analyze('verify', here)
      assert.deepEqual([verified.status, verified.out], [0, ''])
    } finally {
      rmSync(temp, { recursive: true, force: true })
    }
  })
}

test('the unit for backups is confined like the service, and its command is one of keyrail', () => {
  const backup = textOf('keyrail-backup.service')
  const confinement = (unit: string) =>
    unit.slice(unit.indexOf('AmbientCapabilities='), unit.indexOf('[Install]'))
  assert.equal(confinement(backup), confinement(text))
  const [, words = ''] = /^ExecStart=\/opt\/keyrail\/bin\/keyrail\.mjs (.*)$/m.exec(backup) ?? []
  const [command = '', ...args] = words.replaceAll('%S', '/nonexistent').split(' ')
  const { stderr } = spawnSync(process.execPath, [join(root, 'bin/keyrail.mjs'), command, ...args], {
    encoding: 'utf8',
  })
  // Every flag is understood, and the variable of the recipient must be filled in.
  assert.match(stderr, /^Error: "\$\{KEYRAIL_BACKUP_RECIPIENT\}" is not a recipient of age/)
})

test('the unit restarts for ever with a pause, and waits longer than a drain takes', () => {
  for (const line of ['Restart=always', 'RestartSec=5', 'StartLimitIntervalSec=0', 'KillMode=mixed'])
    assert.ok(text.includes(`\n${line}\n`), line)
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(text) ?? []
  // 25 s for requests, 3 s for those that are cut, and the embedded Postgres.
  assert.ok(Number(seconds) >= 60)
})

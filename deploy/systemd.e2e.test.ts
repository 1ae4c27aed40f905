import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeBlocks, readDocument, section } from '../docs/documents.ts'
import { root } from '../packages/server/test/installation.ts'

const folder = join(root, 'deploy/systemd')
const units = readdirSync(folder).filter(name => name.endsWith('.service'))
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
const text = textOf('keyrail.service')
/** What follows a name such as `User=`, in the order of the unit. */
const valuesOf = (unit: string, name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) =>
    value.replaceAll('%S', '/var/lib'),
  )

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

/** The words that the shipped command gives to `systemd-run`. */
function wordsOf(temp: string, ...args: string[]): string[] {
  const stub = join(temp, 'systemd-run')
  writeFileSync(stub, '#!/bin/sh\nprintf "%s\\0" "$@"\n')
  chmodSync(stub, 0o755)
  const env = { PATH: `${temp}:${process.env.PATH}` }
  return execFileSync('sh', [join(folder, 'keyrail-command.sh'), ...args], { env, encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)
}

test('a command runs as the unit does, and only what needs the owner of the tables gets its URL', t => {
  const temp = mkdtempSync(join(tmpdir(), 'keyrail-command-'))
  t.after(() => rmSync(temp, { recursive: true, force: true }))
  const [user] = valuesOf(text, 'User')
  const [place] = valuesOf(text, 'WorkingDirectory')
  const [dataDir = ''] = valuesOf(text, 'Environment').join(' ').split(' ')
  const properties = ['StateDirectory', 'StateDirectoryMode', 'UMask', 'EnvironmentFile'].flatMap(name =>
    valuesOf(text, name).map(value => `--property=${name}=${value}`),
  )
  const asUnit = [`--uid=${user}`, `--working-directory=${place}`, `--setenv=${dataDir}`, ...properties]
  const [program = ''] = valuesOf(text, 'ExecStart').join().split(' ')
  const owner = '--property=EnvironmentFile=-/etc/keyrail/owner'
  for (const [command, needsOwner] of [
    [['doctor', '--json'], false],
    [['secret-keys', 'create', '--name', 'after the incident'], false],
    [['migrate'], true],
    [['backup', '/a folder/file'], true],
    [['restore', '/file'], true],
    [['workspace', 'delete', 'ID'], true],
    [['person', 'erase', 'ann@acme.example'], true],
  ] as const) {
    const words = wordsOf(temp, ...command)
    const at = words.indexOf(program)
    assert.deepEqual(words.slice(at + 1), command)
    const flags = words.slice(0, at)
    // The last file counts where two have a setting.
    assert.deepEqual(flags.slice(-asUnit.length - (needsOwner ? 1 : 0)), [
      ...asUnit,
      ...(needsOwner ? [owner] : []),
    ])
  }
  assert.deepEqual(valuesOf(textOf('keyrail-backup.service'), 'EnvironmentFile').slice(0, 2), [
    '-/etc/keyrail/environment',
    '-/etc/keyrail/owner',
  ])
})

test('the drop-in for port 443 adds one capability, and systemd rates the unit at 2.0 or less', () => {
  const page = section(readDocument('docs/operations.md'), 'TLS')
  const dropIn = codeBlocks(page.replaceAll(/^ {2}/gm, '')).find(({ language }) => language === 'ini')
  assert.ok(dropIn)
  for (const name of ['AmbientCapabilities', 'CapabilityBoundingSet'])
    assert.deepEqual(valuesOf(dropIn.text, name), ['CAP_NET_BIND_SERVICE'])
  // A user namespace would keep the capability from the ports of the host.
  assert.deepEqual(valuesOf(dropIn.text, 'PrivateUsers'), ['no'])
  const temp = mkdtempSync(join(tmpdir(), 'keyrail-unit-'))
  try {
    const path = join(temp, 'keyrail.service')
    writeFileSync(path, `${text}\n${dropIn.text}\n`)
    const rated = analyze('security', '--offline=true', '--threshold=20', path)
    assert.equal(rated.status, 0, rated.out)
  } finally {
    rmSync(temp, { recursive: true, force: true })
  }
})

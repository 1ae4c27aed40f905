import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { codeBlocks, readDocument, section } from '../docs/documents.ts'

const [settings, proxy] = codeBlocks(section(readDocument('docs/deploy.md'), 'Patroni'))

test('HAProxy accepts the section that leads to the primary', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-patroni-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'haproxy.cfg')
  const PATH = `${process.env.PATH}:/usr/sbin`
  const check = (text: string) => {
    writeFileSync(
      file,
      `global\n  log stdout format raw local0\ndefaults\n  log global\n  timeout connect 1s\n\n${text}\n`,
    )
    return spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8', env: { ...process.env, PATH } })
  }
  const good = check(proxy?.text ?? '')
  assert.deepEqual([good.status, /warning/i.test(good.stderr)], [0, false], good.stderr)
  assert.notEqual(check((proxy?.text ?? '').replace('shutdown-sessions', 'shut')).status, 0)
})

test('the settings of Patroni make it wait for a standby, and leave their names to it', () => {
  const { synchronous_mode, synchronous_mode_strict, postgresql } = parse(settings?.text ?? '')
  assert.deepEqual([synchronous_mode, synchronous_mode_strict], [true, true])
  assert.deepEqual(postgresql, { parameters: { synchronous_commit: 'on' } })
})

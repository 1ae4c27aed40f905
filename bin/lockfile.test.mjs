import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { compareLocks, findDisagreements } from './lockfile.mjs'

const ON_LINUX = { dev: false, platform: 'linux', arch: 'x64' }

describe('comparing the installation with the lockfile', () => {
  const wanted = {
    '': { name: 'top' },
    'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
    'node_modules/tool': { version: '2.0.0', integrity: 'sha512-t', dev: true },
    'node_modules/mac': { version: '3.0.0', integrity: 'sha512-m', optional: true, os: ['darwin'] },
    'node_modules/arm': {
      version: '3.0.0',
      integrity: 'sha512-r',
      optional: true,
      os: 'linux',
      cpu: 'arm64',
    },
    'node_modules/here': {
      version: '3.0.0',
      integrity: 'sha512-h',
      optional: true,
      os: ['!win32'],
      cpu: 'x64',
    },
    'node_modules/room': { resolved: 'packages/room', link: true },
  }
  const { 'node_modules/mac': _, 'node_modules/arm': __, ...installed } = wanted
  delete installed['']

  test('packages for another system or processor may be missing', () => {
    assert.deepEqual(compareLocks(wanted, installed, { ...ON_LINUX, dev: true }), [])
  })

  test('an optional package for this system may not be missing', () => {
    const { 'node_modules/here': ___, ...rest } = installed
    assert.deepEqual(compareLocks(wanted, rest, ON_LINUX), ['node_modules/here is missing'])
  })

  test('what only a package for another system needs may be missing too', () => {
    const leaf = { version: '1.0.0', integrity: 'sha512-l', optional: true }
    const needing = { ...wanted['node_modules/mac'], dependencies: { leaf: '1', below: '1' } }
    const leaves = {
      'node_modules/leaf': { ...leaf, dependencies: { under: '1' } },
      'node_modules/under': leaf,
    }
    const all = { ...wanted, 'node_modules/mac': needing, ...leaves }
    assert.deepEqual(compareLocks(all, installed, ON_LINUX), [])
    const a = { ...wanted['node_modules/a'], dependencies: { under: '1' } }
    assert.deepEqual(compareLocks({ ...all, 'node_modules/a': a }, installed, ON_LINUX), [
      'node_modules/under is missing',
    ])
  })

  test('development packages may be missing only where they are not needed', () => {
    const { 'node_modules/tool': ___, ...rest } = installed
    assert.deepEqual(compareLocks(wanted, rest, ON_LINUX), [])
    assert.deepEqual(compareLocks(wanted, rest, { ...ON_LINUX, dev: true }), ['node_modules/tool is missing'])
  })

  test('wrong versions or contents, surplus packages and folders in place of links are named', () => {
    const other = {
      ...installed,
      'node_modules/a': { version: '1.0.0', integrity: 'sha512-other' },
      'node_modules/tool': { version: '1.9.0', integrity: 'sha512-t' },
      'node_modules/room': { resolved: 'packages/room' },
      'node_modules/a/node_modules/b': { version: '1.0.0' },
    }
    const faults = compareLocks(wanted, other, ON_LINUX)
    assert.equal(faults.length, 4)
    assert.match(faults.join('\n'), /a\/node_modules\/b is no longer in the lockfile/)
  })

  test('a package whose folder was deleted counts as not installed', () => {
    const root = mkdtempSync(join(tmpdir(), 'keyrail-test-'))
    const leaf = { 'node_modules/leaf': { version: '1.0.0', integrity: 'sha512-l' } }
    const write = (name, packages) => writeFileSync(join(root, name), JSON.stringify({ packages }))
    mkdirSync(join(root, 'node_modules/leaf'), { recursive: true })
    write('package-lock.json', { '': { name: 'top' }, ...leaf })
    write('node_modules/.package-lock.json', leaf)
    assert.deepEqual(findDisagreements(root, { dev: true }), [])
    rmSync(join(root, 'node_modules/leaf'), { recursive: true })
    assert.deepEqual(findDisagreements(root, { dev: true }), ['node_modules/leaf was removed'])
    rmSync(root, { recursive: true })
  })
})

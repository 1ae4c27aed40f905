import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig, settings } from '../packages/server/src/config.ts'
import { serviceFiles } from '../packages/server/test/source-files.ts'
import { codeBlocks, documentsWithText, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/configuration.md')

interface Setting {
  kind: string
  default: string | null
  min?: number
  max?: number
  why: string
}

const bounds = ({ kind, min, max }: Setting) => {
  if (kind === 'url') return 'URL'
  if (kind === 'secret') return `secret, ${min} characters or more`
  return kind === 'integer' ? `${min} to ${max}` : kind
}

test('the table is the settings of the service, with their defaults and bounds, and nothing else', () => {
  const expected = Object.entries<Setting>(settings).map(([name, setting]) => [
    `\`${name}\``,
    setting.default === null ? 'unset' : `\`${setting.default}\``,
    bounds(setting),
    setting.why,
  ])
  assert.deepEqual(tableOf(page), expected)
})

test('the faults that the page shows are those of the service', () => {
  const [shown] = codeBlocks(section(page, 'Rules').replaceAll(/^ {2}/gm, ''))
  assert.throws(
    () => readConfig({ SERVICE_PORT: 'eighty', SERVICE_BOOTSTRAP_TOKEN: 'short' }),
    error => error instanceof ConfigError && `Error: ${error.message}` === shown?.text,
  )
})

test('the settings that the page calls without effect have none', () => {
  const idle = 'nothing in this release depends on them yet'
  const uses = serviceFiles().filter(
    ({ path, code }) => !path.endsWith('/config.ts') && /publicUrl|request\.ips?\b/.test(code),
  )
  assert.deepEqual([uses.length === 0, page.includes(idle)], [true, true])
})

test('no page names a setting that there is not', () => {
  for (const { path, text } of documentsWithText()) {
    for (const [name] of text.matchAll(/\b(?:SERVICE|DATABASE)_[A-Z_]*[A-Z]\b/g)) {
      assert.ok(name.replace(/_FILE$/, '') in settings, `${path}: ${name}`)
    }
  }
})

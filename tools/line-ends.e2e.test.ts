import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const checkout = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'keyrail-line-ends-'))
after(() => rmSync(folder, { recursive: true }))
const git = (...args: string[]) => execFileSync('git', args, { cwd: checkout, encoding: 'utf8' })

test('a checkout as Git makes it on Windows has LF in scripts, migrations and fixtures', () => {
  const files = git('ls-files').split('\n')
  const fixed = files.filter(path => /\.(?:sh|sql|json|ts|mjs|md|yaml|txt)$|^\.ci\/run$/.test(path))
  assert.ok(fixed.length > 2_000)
  const windows = ['-c', 'core.autocrlf=true', '-c', 'core.eol=crlf']
  const chosen = fixed.filter(path => !/\.(?:ts|md)$/.test(path))
  git(...windows, 'checkout-index', `--prefix=${folder}/`, '--', ...chosen)
  for (const path of chosen) assert.ok(!readFileSync(join(folder, path)).includes('\r\n'), path)
})

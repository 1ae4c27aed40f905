import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastLines } from './build-output.ts'

const checkout = '/home/ann/keyrail'

test('paths of the checkout become relative, and other paths of the machine are left out', () => {
  const output = [
    `Could not resolve './absent.ts' in /home/ann/keyrail/packages/dashboard/src/main.tsx:3:7`,
    'import(file:///home/ann/keyrail/packages/dashboard/build.ts) from file:///opt/node/lib/loader.js',
    'ENOSPC: no space left on device, write "/mnt/volume-7/tmp/x"',
    'see https://example.com/docs/errors and <b>bold</b> ../other/file.ts',
  ].join('\n')
  assert.deepEqual(lastLines(output, checkout), [
    `Could not resolve './absent.ts' in packages/dashboard/src/main.tsx:3:7`,
    'import(packages/dashboard/build.ts) from …',
    'ENOSPC: no space left on device, write "…"',
    'see https://example.com/docs/errors and <b>bold</b> ../other/file.ts',
  ])
})

test('colours, stack traces, empty lines and the beginning of a long output are left out', () => {
  const trace = 'Stack backtrace:\n   0: <unknown>\n             at ./nptl/pthread_create.c:442:8\n'
  assert.deepEqual(lastLines(`\u001b[31mwrong\u001b[0m\n\n${trace}`, checkout), ['wrong'])
  const long = Array.from({ length: 1_000 }, (_, i) => `line ${i} ${'x'.repeat(500)}`).join('\n')
  const lines = lastLines(long, checkout)
  assert.equal(lines.length, 30)
  assert.match(lines.at(-1) ?? '', /^line 999 x/)
  assert.ok(lines.every(line => line.length <= 200))
})

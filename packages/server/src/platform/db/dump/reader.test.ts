import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countRows } from './format.ts'
import { DumpReader } from './reader.ts'

/** Splits bytes into pieces of the given sizes, repeatedly; a size of 0 gives an empty piece. */
async function* inPieces(bytes: Buffer, sizes: readonly number[]) {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

/** A row in COPY's text format: no bare backslash, and a line feed only at the end. */
const row = fc
  .array(fc.constantFrom('a', '\\\\.', '\\\\', '.', '\\n', '\t', '\\N', '.\\\\', 'é', '😀', ''), {
    maxLength: 6,
  })
  .map(parts => `${parts.join('')}\n`)
const section = fc.array(row, { maxLength: 5 }).map(rows => rows.join(''))
const sizes = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 5 })
  .filter(list => list.some(size => size > 0))

test('each section gives its own rows and lines, however the bytes are split', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(section, { maxLength: 4 }), sizes, async (sections, cut) => {
      const text = sections.map((rows, i) => `copy ${i}\n${rows}\\.\n`).join('')
      const reader = new DumpReader(inPieces(Buffer.from(text), cut))
      for (const [i, rows] of sections.entries()) {
        assert.equal(await reader.line(100), `copy ${i}`)
        const pieces: Buffer[] = []
        for await (const piece of reader.rows()) pieces.push(piece)
        assert.equal(Buffer.concat(pieces).toString(), rows)
        assert.equal(
          pieces.reduce((sum, piece) => sum + countRows(piece), 0),
          rows.split('\n').length - 1,
        )
      }
      await reader.end()
    }),
  )
})

test('a text that ends within a section or continues after the last is an error', async () => {
  const cut = new DumpReader(inPieces(Buffer.from('copy\na\nb\n\\.'), [3]))
  await cut.line(100)
  await assert.rejects(async () => {
    for await (const _ of cut.rows());
  }, /ends before/)
  await assert.rejects(new DumpReader(inPieces(Buffer.from('x'), [1])).end(), /continues after/)
})

test('a first line that never ends is refused and not buffered', async () => {
  let asked = 0
  async function* endless() {
    for (;;) {
      asked += 1
      yield Buffer.alloc(1000, 'x')
    }
  }
  await assert.rejects(new DumpReader(endless()).line(5000), /not a Keyrail backup/)
  assert.equal(asked, 6)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

// Its types are those of a browser, too.
const { wordsFor } = await import(new URL('../src/widget/words/words.ts', import.meta.url).href)

test('no formatter is made before a text needs one, and each only once', t => {
  const made = (['PluralRules', 'NumberFormat', 'DateTimeFormat'] as const).map(name =>
    t.mock.method(Intl, name),
  )
  const counts = () => made.map(({ mock }) => mock.callCount())
  const words = wordsFor('de', undefined)
  assert.equal(words.text('loading'), 'Schlüssel werden geladen')
  assert.deepEqual(counts(), [0, 0, 0])
  for (const at of ['2026-11-02T10:00:00Z', '2026-11-03T10:00:00Z'])
    assert.match(words.day(at), /^\d{2}\.11\.2026$/)
  assert.deepEqual(counts(), [0, 0, 1])
  assert.equal(words.count('requests', 1), '1 Anfrage in 30 Tagen')
  assert.equal(words.count('requests', 1_234), '1.234 Anfragen in 30 Tagen')
  assert.deepEqual(counts(), [1, 1, 1])
})

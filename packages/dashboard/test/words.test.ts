import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { browserOf } from '../src/components/browser-names.ts'
import { slugOf } from '../src/components/slug.ts'
import { relativeTime } from '../src/components/time.ts'

test('a slug made from any name has only what the service accepts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), name => {
      assert.match(slugOf(name), /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/)
    }),
  )
  assert.equal(slugOf('Acme Büro & Co.'), 'acme-buro-co')
})

test('times read as a person says them, past and future', () => {
  const now = Date.parse('2026-05-10T12:00:00Z')
  const words = [
    '2026-05-10T11:59:30Z',
    '2026-05-10T11:20:00Z',
    '2026-05-09T12:00:00Z',
    '2026-05-24T12:00:00Z',
    '2026-05-08T12:00:01Z',
    '2026-05-17T11:59:00Z',
  ]
  assert.deepEqual(
    words.map(at => relativeTime(at, now)),
    ['just now', '40 minutes ago', 'yesterday', 'in 14 days', 'yesterday', 'in 7 days'],
  )
})

test('a session is named by its browser and system, and by its own words otherwise', () => {
  const chrome =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36'
  assert.equal(browserOf(chrome), 'Chrome on Linux')
  assert.equal(browserOf('curl/8.5.0'), 'curl/8.5.0')
  assert.equal(browserOf(null), 'Unknown')
})

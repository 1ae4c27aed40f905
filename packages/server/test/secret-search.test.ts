import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchFor } from './secret-search.ts'

const secret = 'krsk_live_2V0 horse'
const forms = {
  plain: secret,
  hexadecimal: Buffer.from(secret).toString('hex'),
  'base64 without padding': Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  'as a part of a URL': encodeURIComponent(secret),
}

test('a secret is found in every form, at the start, in the middle and at the end', () => {
  const search = searchFor(['krsk_live_other', secret])
  for (const [name, form] of Object.entries(forms)) {
    for (const text of [form, `${form} after`, `before${form}`, `before ${form} after`]) {
      assert.equal(search(text), form, name)
    }
  }
})

test('nothing is found in a text with the start of a secret alone, or with none', () => {
  const search = searchFor([secret])
  for (const text of ['', 'krsk', secret.slice(0, -1), 'krsk_live_2V0 hors', 'hello']) {
    assert.equal(search(text), undefined)
  }
})

test('a secret that is too short to be searched for is an error', () => {
  assert.throws(() => searchFor(['short']), /too short/)
})

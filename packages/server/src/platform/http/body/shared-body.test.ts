import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodingOf } from './shared-body.ts'

test('the encoding with the greatest weight is chosen, and Brotli among equals', () => {
  const chosen = {
    '': 'identity',
    gzip: 'gzip',
    'gzip, deflate, br': 'br',
    'gzip, br;q=0.1': 'gzip',
    'br;q=0, gzip;q=0.2': 'gzip',
    'GZIP; Q=1': 'gzip',
    '*': 'br',
    '*;q=0': 'identity',
    'identity;q=0': 'identity',
    deflate: 'identity',
    ';;, ,=': 'identity',
  }
  for (const [accepted, encoding] of Object.entries(chosen))
    assert.equal(encodingOf(accepted), encoding, accepted)
  assert.equal(encodingOf(undefined), 'identity')
})

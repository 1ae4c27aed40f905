import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearerForms } from '../../test/bearer-forms.ts'
import { readCredential } from './credential.ts'

test('service and SDK find the credential of a header by one grammar', () => {
  for (const [header, credential] of bearerForms) {
    const { key } = readCredential(['Authorization', header], 'authorization')
    assert.equal(key ?? null, credential, JSON.stringify(header))
  }
})

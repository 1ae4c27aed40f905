import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearerForms } from '../../../sdk/test/bearer-forms.ts'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeVendor } from '../../test/vendor.ts'
import { readBearer } from './bearer.ts'

test('service and SDK find the credential of a header by one grammar', () => {
  for (const [header, credential] of bearerForms)
    assert.equal(readBearer([header]) ?? null, credential, JSON.stringify(header))
  assert.equal(readBearer([]), undefined)
  assert.equal(readBearer(['Bearer a', 'Bearer a']), undefined)
})

test('every kind of credential may follow more than one space', async () => {
  const harness = await startHarness()
  const vendor = await makeVendor(harness)
  const person = await makePerson(harness.query, { workspaceId: vendor.workspaceId })
  const embed = await mintToken(harness, vendor)
  for (const [method, url, token, status] of [
    ['GET', '/v1/workspace', vendor.live, 200],
    ['GET', '/v1/auth/me', person.token, 200],
    ['GET', '/v1/embed/keys', embed, 200],
    ['POST', '/v1/workspaces', harness.deps.config.bootstrapToken, 400],
  ] as const) {
    const heads = [1, 2, 9].map(spaces => ({ authorization: `Bearer${' '.repeat(spaces)}${token}` }))
    const answers = await Promise.all(heads.map(headers => harness.app.inject({ method, url, headers })))
    assert.deepEqual(
      answers.map(answer => answer.statusCode),
      [status, status, status],
      url,
    )
  }
})

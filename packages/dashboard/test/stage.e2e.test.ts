import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()

test('a whole API key in an address fails the journey that sent it', async () => {
  const vendor = await makeVendor(stage.harness)
  const { key } = await issueKey(stage.harness, vendor)
  const person = await makePerson(stage.harness.query, { workspaceId: vendor.workspaceId, name: 'Ann' })
  const visit = await stage.visit('/app/keys', { as: person })
  await visit.heading('Keys')
  await visit.page.evaluate(`fetch('/v1/keys?q=${key}')`)
  await assert.rejects(visit.leave(), /a secret in an address/)
})

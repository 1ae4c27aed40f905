import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { runGenerator } from '../harness/generator.ts'
import { makePeople, settledSessions, signIns } from './people.ts'
import type { RawArgon2Counts, RawArgon2Plan } from './raw-argon2-process.ts'
import { migratedPostgres, startKeyrail } from './start.ts'

const postgres = await migratedPostgres()
const server = await startKeyrail(postgres)
after(async () => {
  await server.close()
  await postgres.close()
})

test('people created for a bench can sign in, and each session is counted', async () => {
  const people = await makePeople(server.url, postgres, 3)
  for (const { path, ...request } of signIns(people)) {
    const answer = await fetch(server.url + path, request)
    assert.equal(answer.status, 201)
  }
  assert.equal(await settledSessions(postgres), 3)
})

test('the library alone accepts their password, and the process fails on any other', async () => {
  const { hash, password } = await makePeople(server.url, postgres, 1)
  const raw = (plan: RawArgon2Plan) =>
    runGenerator<RawArgon2Plan, RawArgon2Counts>(
      new URL('raw-argon2-process.ts', import.meta.url).href,
      plan,
      null,
    )
  const { verified, perSecond } = await raw({ hash, password, seconds: 0.01 })
  assert.ok(verified > 0 && perSecond > 0)
  await assert.rejects(raw({ hash, password: 'incorrect horse', seconds: 0.01 }), /was refused/)
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import {
  comparable,
  contentsOf,
  freshDatabase,
  freshPath,
  query,
  tablesOf,
  untilUsesAreRecorded,
} from '../../../../test/dump-contents.ts'
import { encryptionKey } from '../../../../test/encryption-key.ts'
import { startHarness } from '../../../../test/harness.ts'
import { madePassword, makeMailedToken, makePerson } from '../../../../test/people.ts'
import { patientBudgets } from '../../../../test/stores.ts'
import { issueKey, makeInvite, makeVendor, uniqueSlug } from '../../../../test/vendor.ts'
import { buildApp } from '../../../app.ts'
import { readConfig } from '../../../config.ts'
import { openDeps } from '../../../deps.ts'
import { restore } from '../../../restore.ts'
import { createLog } from '../../observe/log.ts'
import type { Connection } from '../connection.ts'
import { floorSql, versionSql } from '../failover/raised.ts'
import { versionsRaisedBy } from '../failover/timeline.ts'
import { backup } from './backup.ts'

const source = await startHarness()
const vendor = await makeVendor(source)
const { live } = vendor
const { ask } = source

/** A workspace with a history of every kind of mutation. */
const kept = await issueKey(source, vendor, { meta: { a: '' } })
// Names from before may hold what a copy has to escape.
await source.query('update api_keys set name = $2 where id = $1', [
  kept.id,
  'tab\there, line\nthere, \\. and \\N',
])
const revoked = await issueKey(source, vendor)
await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: live, body: { reason: 'lost' } })
const rotated = await issueKey(source, vendor)
const { body: successor } = await ask('POST', `/v1/keys/${rotated.id}/rotate`, { token: live, body: {} })
const replayed = { 'idempotency-key': 'once' }
const body = { name: 'Replayed', slug: uniqueSlug() }
const first = await ask('POST', '/v1/projects', { token: live, body, headers: replayed })
await ask('PATCH', '/v1/workspace', { token: live, body: { billing_email: 'it@acme.example' } })
const other = await makeVendor(source)
const person = await makePerson(source.query, { workspaceId: vendor.workspaceId })
const resetToken = await makeMailedToken(source.query, person.userId, 'password_reset')
const invited = await makeInvite(source, vendor)
const firstPage = await ask('GET', '/v1/keys?limit=1', { token: live })

const path = freshPath()
await untilUsesAreRecorded(source.connection)
await backup(source.connection, path)

/** A service on a restored database. */
async function serviceOn(connection: Connection) {
  const { config } = readConfig({ SERVICE_ENCRYPTION_KEY: encryptionKey })
  const deps = await openDeps({
    config,
    log: createLog('silent'),
    connection,
    randomBytes,
    budgets: patientBudgets,
  })
  const app = await buildApp(deps)
  return {
    async ask(
      method: 'GET' | 'POST',
      url: string,
      token: string,
      more: { body?: object; headers?: object } = {},
    ) {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...more.headers,
      }
      const payload = JSON.stringify(more.body)
      const answer = await app.inject({ method, url, headers, ...(more.body && { payload }) })
      return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
    },
    async close() {
      await app.close()
      await deps.close()
    },
  }
}

test('every row comes back, and each project’s version and floor is at least 2^20 higher', async () => {
  const target = await freshDatabase(true)
  const { projectsRaised, migrated, passedOver } = await restore(target, path)
  assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source.connection, comparable))
  assert.deepEqual([projectsRaised, migrated, passedOver], [3, [], []])

  const heads = `select project_id, ${versionSql('h')} as version, ${floorSql('h')} as floor from policy_heads h order by project_id`
  type Head = { project_id: string; version: string; floor: string }
  const [before = [], raised = []] = (await Promise.all(
    [source.connection, target].map(of => query(of, heads)),
  )) as Head[][]
  assert.equal(versionsRaisedBy, 1_048_576)
  for (const [index, { project_id, version, floor }] of raised.entries()) {
    assert.deepEqual([project_id, floor], [before[index]?.project_id, version])
    assert.ok(Number(version) >= Number(before[index]?.version) + versionsRaisedBy, `${version}`)
  }
})

test('a node that saw a first restore of a backup learns of changes after its second', async () => {
  const target = await freshDatabase(true)
  /** Restores the backup and revokes a key. @returns what a node of this version gets then. */
  const restoreAndRevoke = async (id: string, since: number) => {
    await restore(target, path, { force: true })
    const service = await serviceOn(target)
    try {
      assert.equal((await service.ask('POST', `/v1/keys/${id}/revoke`, live, { body: {} })).status, 200)
      return (
        await service.ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}`, live)
      ).body
    } finally {
      await service.close()
    }
  }
  const seen = await restoreAndRevoke(successor.id, 1)
  const found = await restoreAndRevoke(kept.id, seen.version)
  assert.equal(found.object, 'policy_snapshot')
  const ids = found.keys.map((key: { key_id: string }) => key.key_id)
  assert.deepEqual([ids.includes(kept.id), ids.includes(successor.id)], [false, true])
})

test('a restored service knows its keys, cursors and replays, and its audit chains verify', async () => {
  const target = await freshDatabase(false)
  await restore(target, path)
  const service = await serviceOn(target)
  try {
    for (const token of [live, other.live]) {
      const chain = await service.ask('GET', '/v1/audit_logs/chain', token)
      assert.deepEqual([chain.status, chain.body.valid], [200, true], JSON.stringify(chain.body))
    }
    const { body: was } = await ask('GET', `/v1/keys/${kept.id}`, { token: live })
    const { body: is } = await service.ask('GET', `/v1/keys/${kept.id}`, live)
    assert.deepEqual(is, was)

    const next = `/v1/keys?limit=1&cursor=${firstPage.body.next_cursor}`
    const { body: theirs } = await ask('GET', next, { token: live })
    const { status, body: ours } = await service.ask('GET', next, live)
    assert.deepEqual([status, ours.data], [200, theirs.data])

    const again = await service.ask('POST', '/v1/projects', live, { body, headers: replayed })
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.equal(again.body.id, first.body.id)

    const [head] = await query(
      target,
      `select (${versionSql('h')})::float8 as version from policy_heads h where project_id = '${vendor.projectId}'`,
    )
    const made = await service.ask('POST', '/v1/keys', live, {
      body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' },
    })
    assert.equal(made.status, 201)
    const [raised] = await query(
      target,
      `select version::float8 - 1 as version from policy_heads where project_id = '${vendor.projectId}'`,
    )
    assert.deepEqual(raised, head)
    assert.equal((await service.ask('GET', '/v1/audit_logs/chain', live)).body.valid, true)
  } finally {
    await service.close()
  }
})

test('sessions, invitations and mailed links of the backup have ended, as they may after it', async () => {
  const target = await freshDatabase(true)
  await restore(target, path)
  const service = await serviceOn(target)
  try {
    const whoIs = (token: string) => service.ask('GET', '/v1/auth/me', token)
    assert.equal((await whoIs(person.token)).status, 401)
    const reset = await service.ask('POST', '/v1/auth/password_resets/consume', '', {
      body: { token: resetToken, password: 'a new one of a stranger' },
    })
    assert.deepEqual([reset.status, reset.body.code], [400, 'invalid_token'])
    const signedIn = await service.ask('POST', '/v1/auth/sessions', '', {
      body: { email: person.email, password: madePassword },
    })
    assert.equal(signedIn.status, 201, JSON.stringify(signedIn.body))
    assert.equal((await whoIs(signedIn.body.token)).status, 200)
    const accepted = await service.ask('POST', '/v1/auth/invites/accept', signedIn.body.token, {
      body: { token: invited.token },
    })
    assert.deepEqual([accepted.status, accepted.body.code], [400, 'invalid_token'])
  } finally {
    await service.close()
  }
})

test('a backup is one consistent snapshot: it has no later writes in any table', async () => {
  const busy = await startHarness()
  const its = await makeVendor(busy)
  // More than pipes and buffers hold, and incompressible, so that the copy pauses half-way.
  await busy.query(
    'insert into service_secrets (name, sealed) select n::text, $1 from generate_series(1, 3) n',
    [randomBytes(1024 * 1024)],
  )
  await untilUsesAreRecorded(busy.connection)
  const expected = await contentsOf(busy.connection, comparable)
  const pieces: Buffer[] = []
  let wrote = false
  const slow = new Writable({
    async write(piece, _encoding, done) {
      pieces.push(piece)
      if (!wrote) {
        wrote = true
        await issueKey(busy, its)
        await makeVendor(busy)
      }
      done()
    },
  })
  await backup(busy.connection, slow)
  assert.ok(wrote && !slow.writableEnded)
  const file = freshPath()
  writeFileSync(file, Buffer.concat(pieces))
  const target = await freshDatabase(true)
  await restore(target, file)
  assert.deepEqual(await contentsOf(target, comparable), expected)
})

test('a database that has a workspace is refused; --force replaces everything', async () => {
  const target = await freshDatabase(true)
  await restore(target, path)
  await query(target, `update workspaces set name = 'Changed'`)
  await query(target, 'update policy_heads set floor = 1')
  const before = [await tablesOf(target), await contentsOf(target)]
  await assert.rejects(restore(target, path), /is not empty: it has workspaces.*--force/)
  assert.deepEqual([await tablesOf(target), await contentsOf(target)], before)
  await restore(target, path, { force: true })
  assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source.connection, comparable))
})

test('a database with a running service is refused; --force restores under it', async () => {
  const running = await startHarness()
  assert.equal((await running.ask('GET', '/v1/keys', { token: live })).status, 401)
  await assert.rejects(restore(running.connection, path), /Keyrail is running on this database/)
  await restore(running.connection, path, { force: true })
  assert.equal((await running.ask('GET', `/v1/keys/${kept.id}`, { token: live })).status, 200)
})

test('a finished backup holds no transaction and no lock, and a second one is equal', async () => {
  const again = freshPath()
  const [{ header }, { header: second }] = [
    await backup(source.connection, freshPath()),
    await backup(source.connection, again),
  ]
  assert.deepEqual({ ...second, takenAt: header.takenAt }, header)
  const others = `select from pg_stat_activity where datname = current_database()
    and application_name = 'keyrail backup'`
  assert.deepEqual(await query(source.connection, others), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresFrom } from '../../test/figures.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { verifyChains } from './upkeep.ts'

const noon = Date.UTC(2026, 0, 31, 12)
const hour = 3_600_000
const states = ['valid', 'broken', 'unverified'].map(state => `keyrail_audit_chains{state="${state}"}`)
const overdue = 'keyrail_audit_verification_overdue_seconds'
const last = 'keyrail_audit_last_verification_timestamp_seconds'

async function stage(vendors: number) {
  const harness = await startHarness()
  const { connection, deps, logged, query } = harness
  await harness.setStoreTime(new Date(noon))
  const made = []
  for (let i = 0; i < vendors; i++) made.push(await makeVendor(harness))
  // Their own time is that of the process, which is another one.
  await query('update workspaces set created_at = service_now()')
  let now = 0
  const chore = verifyChains({ connection, log: deps.log, monotonic: () => now })
  const at = (ms: number) => harness.setStoreTime(new Date(noon + ms))
  return {
    harness,
    query,
    vendors: made,
    at,
    read: figuresFrom(deps.metrics),
    round: (signal?: AbortSignal) => doChores(connection, [chore], deps.log, signal),
    /** The time that a chain takes, in ms. */
    eachTakes(ms: number) {
      const { log } = deps
      const monotonic = () => {
        now += ms
        return now - ms
      }
      const slow = verifyChains({ connection, log, monotonic })
      return () => doChores(connection, [slow], log)
    },
    verified: async () =>
      (await query('select workspace_id from audit_heads where verified_at is not null')).length,
    broken: () =>
      logged.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'an audit chain is broken'),
  }
}

/** The time of the day of a chain, in hours after midnight, from the id of its workspace. */
const hourOf = (id: string): number => (Number.parseInt(id.slice(-6), 16) % 86_400) / 3_600

test('every chain is verified once a day, at the time of the day that its id gives', async () => {
  const { query, vendors, at, read, round } = await stage(6)
  assert.deepEqual(await read(...states), [0, 0, 6])
  const newly = async () =>
    (await query('select workspace_id as id from audit_heads where verified_at = service_now()')).map(
      ({ id }) => id,
    )
  for (let passed = 4; passed <= 48; passed += 4) {
    // Noon is the beginning, so 4 hours later it is 16 o'clock.
    await at(passed * hour)
    await round()
    const end = (12 + passed) % 24
    const isBetween = (time: number) => (end === 0 ? time > 20 || time === 0 : time > end - 4 && time <= end)
    const due = vendors.map(({ workspaceId }) => workspaceId).filter(id => isBetween(hourOf(id)))
    assert.deepEqual((await newly()).toSorted(), due.toSorted(), `after ${passed} hours`)
  }
  assert.deepEqual(await read(...states, overdue), [6, 0, 0, 0])
  assert.ok(((await read(last))[0] ?? 0) > noon / 1_000)
})

test('a broken chain and one without its head are logged and counted, until they are repaired', async () => {
  const { query, vendors, at, read, round, broken } = await stage(4)
  const [changed, headless] = vendors.map(({ workspaceId }) => workspaceId)
  const [{ payload }] = await query('select payload from audit_logs where workspace_id = $1 and seq = 2', [
    changed,
  ])
  await query(
    `alter table audit_logs disable trigger all; alter table audit_heads disable trigger all;
     update audit_logs set payload = '{"forged":true}' where workspace_id = '${changed}' and seq = 2;
     delete from audit_heads where workspace_id = '${headless}'`,
  )
  await at(25 * hour)
  await round()
  assert.deepEqual(await read(...states), [2, 2, 0])
  const lines = broken().map(({ level, workspace_id, first_bad_seq, reason }) => ({
    level,
    workspace_id,
    first_bad_seq,
    reason,
  }))
  assert.deepEqual(
    new Set(lines.map(line => `${line.level} ${line.workspace_id} ${line.reason}`)),
    new Set([`error ${changed} hash_mismatch`, `error ${headless} head_mismatch`]),
  )
  assert.equal(lines.find(({ workspace_id }) => workspace_id === changed)?.first_bad_seq, 2)
  // A broken one is looked at again within the hour, so that a repair is seen.
  await at(26 * hour + 1)
  await round()
  assert.equal(broken().filter(({ workspace_id }) => workspace_id === changed).length, 2)
  await query('update audit_logs set payload = $2 where workspace_id = $1 and seq = 2', [changed, payload])
  await at(27 * hour + 2)
  await round()
  assert.deepEqual(await read(...states), [3, 1, 0])
})

test('a round ends after a minute, and the next one goes on where it ended', async () => {
  const { at, eachTakes, verified, read } = await stage(5)
  await at(48 * hour)
  const round = eachTakes(30_000)
  await round()
  assert.equal(await verified(), 1)
  assert.ok(((await read(overdue))[0] ?? 0) >= 24 * 3_600)
  await round()
  assert.equal(await verified(), 2)
})

test('a chain that cannot be verified is logged, and the others have their turn', async () => {
  const { harness, query, vendors, at, round, verified } = await stage(4)
  const [slow] = vendors.map(({ workspaceId }) => workspaceId)
  // Its page of addresses takes longer than a run waits.
  await query('alter table audit_addresses rename to kept_addresses')
  await query(`create view audit_addresses as select workspace_id, seq, path, address, salt from kept_addresses
    union all select '${slow}'::uuid, 1::bigint, 'x', 'x', '\\x00'::bytea from pg_sleep(10)`)
  await at(25 * hour)
  await assert.rejects(round(), { code: 'unavailable' })
  assert.equal(await verified(), 3)
  const lines = harness.logged
    .map(line => JSON.parse(line))
    .filter(({ msg }) => msg === 'an audit chain could not be verified')
  assert.deepEqual(
    lines.map(({ workspace_id }) => workspace_id),
    [slow],
  )
})

test('a service that closes does not wait for the chains that are due', async () => {
  const { at, round, verified } = await stage(2)
  await at(25 * hour)
  await round(AbortSignal.abort())
  assert.equal(await verified(), 0)
})

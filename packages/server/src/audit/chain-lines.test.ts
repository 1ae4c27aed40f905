import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { AuditChain, AuditChainProgress } from '@keyrail/contract/vendor/audit'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { connect } from '../platform/db/connection.ts'
import type { JsonLines } from '../platform/http/body/json-lines.ts'
import { Refusal } from '../platform/refusal.ts'
import { verifyInLines } from './chain-lines.ts'
import { createDeriveChain, type VerifyChain } from './verify.ts'
import { type ChainStep, verify, type Watch } from './verify-run.ts'

const harness = await startHarness()
const { ask, query } = harness

const asLines = { accept: 'application/x-ndjson' }
const linesOf = (body: string) =>
  body
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))

const appendRows = (workspaceId: string, rows: number) =>
  query(
    `select audit_append($1, 'system', null, service_now(), array_fill('workspace.updated'::text, array[$2::int]),
       array_fill('workspace'::text, array[$2]), array_fill($1::uuid, array[$2]), array_fill(null::text, array[$2]),
       array_fill('{}'::text, array[$2]), null)`,
    [workspaceId, rows],
  )

test('lines end with the answer that JSON is, for a valid chain and for a broken one', async () => {
  const { workspaceId, live } = await makeVendor(harness)
  for (const valid of [true, false]) {
    if (!valid)
      await query(`update audit_logs set payload = '{}' where workspace_id = $1 and seq = 2`, [workspaceId])
    const { body: whole } = await ask('GET', '/v1/audit_logs/chain', { token: live })
    const { headers, body } = await ask('GET', '/v1/audit_logs/chain', { token: live, headers: asLines })
    assert.equal(headers['content-type'], 'application/x-ndjson')
    const lines = linesOf(body)
    assert.deepEqual(lines.pop(), whole)
    assert.equal(whole.valid, valid)
    for (const { object, rows } of lines)
      assert.deepEqual([object, rows], ['audit_chain_progress', whole.head_seq])
  }
})

test('only a client that names lines gets them', async () => {
  const { live } = await makeVendor(harness)
  const typeFor = async (accept?: string) => {
    const headers = accept === undefined ? {} : { accept }
    const answer = await ask('GET', '/v1/audit_logs/chain', { token: live, headers })
    return String(answer.headers['content-type']).split(';')[0]
  }
  for (const accept of [undefined, '*/*', 'application/*', 'application/json', 'application/x-ndjsons', ''])
    assert.equal(await typeFor(accept), 'application/json', accept)
  for (const accept of [
    'Application/X-NDJSON',
    'application/x-ndjson;q=1',
    'text/html, application/x-ndjson',
  ])
    assert.equal(await typeFor(accept), 'application/x-ndjson', accept)
})

test('a run reports how far it is in steps that rise to the head, at most a hundred and one', async () => {
  const { workspaceId } = await makeVendor(harness)
  await appendRows(workspaceId, 3_000)
  const steps: ChainStep[] = []
  const chain = await verify(harness.connection, workspaceId, step => steps.push(step))
  assert.equal(chain.valid, true)
  assert.ok(steps.length > 2 && steps.length <= 101, `${steps.length} steps`)
  assert.deepEqual(steps[0], { checked: 0, rows: chain.head_seq })
  for (const [i, { checked, rows }] of steps.entries()) {
    assert.equal(rows, chain.head_seq)
    if (i > 0) assert.ok(checked > (steps[i - 1]?.checked ?? 0) && checked <= rows)
  }
})

test('a request that shares a run hears at once how far it is', async () => {
  const { workspaceId } = await makeVendor(harness)
  await appendRows(workspaceId, 500)
  const derive = createDeriveChain(harness.connection)
  const heard: ChainStep[] = []
  const joined = Promise.withResolvers<void>()
  const first = derive(workspaceId, () => {
    if (heard.length > 0) return
    assert.equal(
      derive(workspaceId, step => heard.push(step)),
      first,
    )
    assert.equal(heard.length, 1)
    joined.resolve()
  })
  await joined.promise
  await first
})

test('a run that fails after its first line ends with the problem, which is logged', async () => {
  const { workspaceId, live } = await makeVendor(harness)
  const address = await harness.app.listen({ port: 0, host: '127.0.0.1' })
  const locker = await connect(harness.connection, 'locker', false)
  await locker.query('begin')
  await locker.query('lock table audit_logs')
  const answer = await fetch(`${address}/v1/audit_logs/chain`, {
    headers: { ...asLines, authorization: `Bearer ${live}` },
  })
  assert.equal(answer.status, 200)
  const end = () =>
    query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'keyrail audit chain' and datname = current_database() and wait_event_type = 'Lock'`,
    )
  const lines = answer.text()
  await Promise.race([lines, until(async () => (await end()).length > 0, 'the run waits for the lock')])
  const [first, last, ...more] = linesOf(await lines)
  await locker.end()
  assert.equal(more.length, 0)
  assert.deepEqual([first.object, first.checked], ['audit_chain_progress', 0])
  assert.deepEqual(
    [last.object, last.code, last.status, last.request_id],
    [undefined, 'unavailable', 503, answer.headers.get('x-request-id')],
  )
  const logged = () => harness.logged.find(line => line.includes(last.request_id))
  await until(async () => logged() !== undefined)
  const { level, status, code, workspace_id } = JSON.parse(String(logged()))
  assert.deepEqual([level, status, code, workspace_id], ['error', 200, 'unavailable', workspaceId])
})

/** A run that the test holds: what it says, and how it ends. */
function heldRun() {
  const { promise, resolve, reject } = Promise.withResolvers<AuditChain>()
  let watch: Watch = () => {}
  const run: VerifyChain = (_, watcher) => {
    watch = watcher ?? watch
    return promise
  }
  return { run, resolve, reject, tell: (checked: number) => watch({ checked, rows: 9 }) }
}
const whole = { object: 'audit_chain', valid: true, checked: 9 } as AuditChain
const progress = (checked: number): AuditChainProgress => ({
  object: 'audit_chain_progress',
  checked,
  rows: 9,
})
const read = async (lines: JsonLines) =>
  linesOf(await text(lines.toStream(error => ({ code: (error as Refusal).code }))))
const never = new AbortController().signal
const judged = async () => {}

test('a refusal before the first line is a refusal', async () => {
  const { run, reject } = heldRun()
  const lines = verifyInLines(run, 'w', judged, never)
  reject(new Refusal('too_many_requests'))
  await assert.rejects(lines, error => error instanceof Refusal && error.code === 'too_many_requests')
  const refusing: VerifyChain = async () => Promise.reject(new Refusal('unavailable'))
  await assert.rejects(verifyInLines(refusing, 'w', judged, never), Refusal)
})

test('a reader that lags behind gets the last step alone', async () => {
  const { run, tell, resolve } = heldRun()
  const opening = verifyInLines(run, 'w', judged, never)
  tell(0)
  const lines = await opening
  for (const checked of [2, 4, 6]) tell(checked)
  const reading = read(lines)
  await Promise.resolve()
  resolve(whole)
  assert.deepEqual(await reading, [progress(6), whole])
})

test('a credential that ends during the run gets no result', async () => {
  const { run, tell, resolve } = heldRun()
  const opening = verifyInLines(run, 'w', () => Promise.reject(new Refusal('unauthenticated')), never)
  tell(3)
  const lines = await opening
  resolve(whole)
  assert.deepEqual((await read(lines)).at(-1), { code: 'unauthenticated' })
})

test('a client that has gone ends its lines, and not the run of others', async () => {
  const { run, tell, resolve } = heldRun()
  const gone = new AbortController()
  const shared = run('w')
  const opening = verifyInLines(
    run,
    'w',
    () => Promise.reject(new Error('the credential of no client was judged')),
    gone.signal,
  )
  tell(3)
  const reading = read(await opening)
  gone.abort()
  assert.deepEqual(
    (await reading).filter(line => line.object !== 'audit_chain_progress'),
    [],
  )
  resolve(whole)
  assert.equal(await shared, whole)
})

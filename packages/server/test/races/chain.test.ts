import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../../src/routes.ts'
import { bootstrapToken, startHarness } from '../harness.ts'
import { mutationsOf } from '../mutations.ts'
import { until } from '../until.ts'
import { makeScene } from '../vendor.ts'
import { faultsOf } from '../whole.ts'
import { openBarrier } from './barrier.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const scene = await makeScene(ask, bootstrapToken)

/** The advisory lock at which every write of a row, and the end of the transaction, pauses. */
const pauseLock = 4711
const written = [
  'workspaces',
  'projects',
  'policy_heads',
  'tenants',
  'api_keys',
  'secret_keys',
  'replays',
  'workspace_members',
  'workspace_invites',
  'users',
  'sessions',
  'mail_throttles',
]
await query(`
  create function pause() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(${pauseLock});
      if tg_op = 'DELETE' then return old; end if; return new; end $$;
  create table locks_seen (stage text, pid int, relations text[]);
  grant insert on locks_seen to public;
  -- Which tables this transaction has locked for writing, or for locking rows in them. A statement that is planned again, such as
  -- after an autovacuum, locks further indexes.
  create function note_locks() returns trigger language plpgsql as
    $$ begin
      insert into locks_seen select tg_argv[0], pg_backend_pid(), array_agg(distinct relation::regclass::text order by relation::regclass::text)
        from pg_locks join pg_class c on c.oid = relation and c.relkind in ('r', 'p')
        where pid = pg_backend_pid() and locktype = 'relation' and mode in ('RowShareLock', 'RowExclusiveLock')
          and relation::regclass::text not in ('locks_seen', 'writes_seen', 'writes_seen_place_seq');
      return null; end $$;
  create trigger note_at_head after update on audit_heads for each row execute function note_locks('head moved');
  create constraint trigger note_at_end after update on audit_heads deferrable initially deferred
    for each row execute function note_locks('commit');
  -- In which order the transaction has written.
  create table writes_seen (place bigserial, tx bigint default txid_current(), relation text);
  grant insert on writes_seen to public;
  grant usage on sequence writes_seen_place_seq to public;
  create function note_write() returns trigger language plpgsql as
    $$ begin insert into public.writes_seen (relation) values (tg_table_name); return null; end $$;
  ${[...written, 'credentials', 'policy_changes', 'audit_logs', 'audit_addresses', 'audit_callers', 'audit_heads'].map(table => `create trigger note_write after insert or update or delete on ${table} for each statement execute function note_write();`).join('')}
  ${written.map(table => `create trigger pause before insert or update or delete on ${table} for each row execute function pause();`).join('')}`)

const waitingLocks = () =>
  query(`select distinct l.relation::regclass::text as relation from pg_locks l
    where l.locktype = 'relation' and l.mode in ('RowShareLock', 'RowExclusiveLock')
      and l.pid in (select pid from pg_locks where locktype = 'advisory' and not granted)`)

for (const { route, prepare } of mutationsOf(routes)) {
  test(`${route.operation} takes the audit head’s lock last`, async () => {
    const { url, token, body } = await prepare({ ask, query, bootstrapToken, scene })
    await barrier.hold('select pg_advisory_xact_lock($1)', [pauseLock])
    const answer = ask(route.method, url, { token, body, headers: { 'idempotency-key': route.operation } })
    try {
      await barrier.untilWaiting(1)
      let relations: string[] = []
      // Other backends may wait for a moment too.
      await until(async () => {
        relations = (await waitingLocks()).map(row => row.relation)
        return relations.length > 0
      })
      assert.ok(!relations.includes('audit_logs'), String(relations))
      // A new workspace inserts its own head, which no other transaction can lock.
      if (route.operation !== 'createWorkspace') assert.ok(!relations.includes('audit_heads'))
    } finally {
      // `truncate` would wait for the rows that the mutation has already written here.
      await query('delete from locks_seen')
      await query('delete from writes_seen')
      await barrier.release()
    }
    assert.equal((await answer).status, route.answer.status)
    const [atHead, atEnd] = await query('select stage, pid, relations from locks_seen order by stage desc')
    assert.deepEqual([atHead.stage, atEnd.stage], ['head moved', 'commit'])
    assert.deepEqual(atEnd.relations, atHead.relations)
    assert.ok(atHead.relations.includes('audit_heads'))
    const writes = await query(`select relation from writes_seen
      where tx in (select tx from writes_seen where relation = 'audit_logs') order by place`)
    const order = writes.map(row => row.relation)
    const ofAudit = ['audit_logs', 'audit_addresses', 'audit_callers', 'audit_heads']
    const first = order.indexOf('audit_logs')
    assert.ok(first > 0)
    assert.deepEqual(
      order.slice(first).filter(relation => !ofAudit.includes(relation)),
      [],
      String(order),
    )
    assert.equal(order.at(-1), 'audit_heads')
  })
}

test('concurrent writers get exactly one row per mutation, in the order of the head', async () => {
  const before = (await query('select seq from audit_heads where workspace_id = $1', [scene.workspaceId]))[0]
  // No more than a slow machine can serve in time, because they wait for one another.
  const writers = 10
  const each = 12
  const ids = await Promise.all(
    Array.from({ length: writers }, async () => {
      const own: string[] = []
      for (let i = 0; i < each; i += 1) {
        const { project_id, tenant_id } = { project_id: scene.projectId, tenant_id: scene.tenantId }
        const { status, body } = await ask('POST', '/v1/keys', {
          token: scene.live,
          body: { project_id, tenant_id, env: 'test' },
        })
        assert.equal(status, 201)
        own.push(body.id)
      }
      return own
    }),
  )
  const rows = await query(
    'select seq, target_id from audit_logs where workspace_id = $1 and seq > $2 order by seq',
    [scene.workspaceId, before.seq],
  )
  assert.deepEqual(
    rows.map(row => row.seq),
    rows.map((_, i) => before.seq + 1 + i),
  )
  assert.deepEqual(rows.map(row => row.target_id).toSorted(), ids.flat().toSorted())
  const place = new Map(rows.map(row => [row.target_id, row.seq]))
  for (const own of ids) {
    const places = own.map(id => place.get(id))
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      'a writer’s rows are in the order in which it made them',
    )
  }
  assert.deepEqual(await faultsOf(query, scene.workspaceId), [])
  const chain = await ask('GET', '/v1/audit_logs/chain', { token: scene.live })
  assert.deepEqual([chain.body.valid, chain.body.head_seq], [true, before.seq + writers * each])
})

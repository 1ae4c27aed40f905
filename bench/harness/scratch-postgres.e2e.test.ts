import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { runPgbench } from './pgbench.ts'
import { canPin } from './pin.ts'
import { findPostgresTool } from './postgres-tools.ts'
import { countCopy, timeCopy } from './psql-copy.ts'
import { type ScratchPostgres, scratchPostgres } from './scratch-postgres.ts'

let postgres: ScratchPostgres
before(async () => {
  postgres = await scratchPostgres({ settings: { work_mem: '5MB', fsync: false }, core: 0 })
})
after(() => postgres.close())

/** The tools come with another package than this project's: without them the message must say what to install. */
async function withTool<T>(tool: 'pgbench' | 'psql', work: () => Promise<T>, check: (result: T) => void) {
  if (findPostgresTool(tool)) check(await work())
  else await assert.rejects(work(), new RegExp(`${tool} is not installed; .*postgresql`))
}

test('the cluster is durable with any settings', async () => {
  const rows = await postgres.query(
    `select name, setting from pg_settings
     where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'work_mem') order by name`,
  )
  assert.deepEqual(
    rows.map(({ name, setting }) => `${name}=${setting}`),
    ['fsync=on', 'full_page_writes=on', 'synchronous_commit=on', 'work_mem=5120'],
  )
})

test('its URL works as DATABASE_URL, and its processes share the server core', async () => {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  if (canPin) {
    for (const pid of [postgres.pid, rows[0]?.pid]) {
      assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Cpus_allowed_list:\t0$/m)
    }
  }
  await client.end()
})

test('pgbench runs a script, and its count is the number of rows written', async () => {
  await postgres.query('create table written (n int not null)')
  const run = () =>
    runPgbench({
      connection: postgres.connection,
      script: '\\set n random(1, :most)\ninsert into written values (:n);\n',
      variables: { most: 5 },
      clients: 2,
      seconds: 1,
    })
  await withTool('pgbench', run, ({ tps, transactions }) => assert.ok(tps > 0 && transactions > 0))
  const result = findPostgresTool('pgbench') ? await run() : { transactions: 0 }
  const [row] = await postgres.query('select count(*)::int as rows, coalesce(max(n), 0) as most from written')
  assert.ok(Number(row?.rows) >= result.transactions && Number(row?.most) <= 5)
})

test('a failed script is a fault with the message of Postgres', async () => {
  const script = 'insert into nowhere values (1);\n'
  const run = () => runPgbench({ connection: postgres.connection, script, clients: 1, seconds: 1 })
  await assert.rejects(
    run(),
    findPostgresTool('pgbench') ? /relation "nowhere" does not exist/ : /not installed/,
  )
})

test('a copy is counted to the byte and the row, with line breaks inside values', async () => {
  const copy = {
    connection: postgres.connection,
    query: `select i, E'a\\nb' from generate_series(1, 1000) i`,
  }
  // 2,893 digits; tab, `a\nb` escaped to four characters, and the line break: six more a row.
  const expected = { bytes: 2_893 + 6 * 1_000, rows: 1_000 }
  await withTool(
    'psql',
    () => countCopy(copy),
    counted => assert.deepEqual(counted, expected),
  )
  await withTool(
    'psql',
    () => timeCopy(copy),
    ({ ms }) => assert.ok(ms > 0),
  )
})

test('a failed copy is a fault with the message of Postgres', async () => {
  const copy = { connection: postgres.connection, query: 'select 1/0' }
  await assert.rejects(timeCopy(copy), findPostgresTool('psql') ? /division by zero/ : /not installed/)
})

test('a closed cluster leaves no process and no file', async () => {
  const other = await scratchPostgres()
  const { host } = other.connection
  assert.ok(existsSync(host))
  await other.close()
  assert.ok(!existsSync(host))
  // The process ends at once; its new parent removes it from the process table a moment later.
  for (let looks = 0; isThere(other.pid) && looks < 1_000; looks += 1) await setTimeout(10)
  assert.ok(!isThere(other.pid))
})

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query } from '../../../../test/embedded-service.ts'
import { startScratchCluster } from '../../../../test/scratch.ts'
import { portOf, renderSettings } from './settings.ts'

test('given settings override the defaults, but not the place of the socket', () => {
  const text = renderSettings('/run/here', { max_connections: 7, unix_socket_directories: '/elsewhere' })
  assert.match(text, /^max_connections = 7$/m)
  assert.match(text, /^unix_socket_directories = '\/run\/here'$/m)
  assert.equal(text.match(/max_connections|unix_socket_directories/g)?.length, 2)
})

test('durability keeps Postgres’s defaults', () => {
  assert.doesNotMatch(renderSettings('/run/here'), /fsync|synchronous_commit|full_page_writes/)
})

test('the port is the default one unless given', () => {
  assert.equal(portOf(), 5432)
  assert.equal(portOf({ port: 6543 }), 6543)
})

test('any text reaches Postgres unchanged, and no value of a row gets into its log', async () => {
  const name = `quote ' backslash \\ done`
  const cluster = await startScratchCluster({ settings: { 'keyrail.text': name, logging_collector: true } })
  const { connection } = cluster
  assert.deepEqual(await query(connection, "SELECT current_setting('keyrail.text') AS text"), [
    { text: name },
  ])
  await query(
    connection,
    "CREATE TABLE person AS SELECT 'ann@example.com' AS email; CREATE UNIQUE INDEX ON person (email)",
  )
  await assert.rejects(query(connection, "INSERT INTO person VALUES ('ann@example.com')"), { code: '23505' })
  const [log] = await query(connection, 'SELECT pg_read_file(pg_current_logfile()) AS text')
  assert.match(String(log?.text), /ERROR: {2}duplicate key value/)
  assert.doesNotMatch(String(log?.text), /ann@example\.com/)
  await cluster.remove()
})

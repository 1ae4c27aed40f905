import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { makeDatabase } from '../../../../test/database.ts'
import { comparable, contentsOf, freshPath, query } from '../../../../test/dump-contents.ts'
import { type ScratchCluster, startScratchCluster } from '../../../../test/scratch.ts'
import { restore } from '../../../restore.ts'
import { migrate } from '../migrate/migrate.ts'
import { backup } from './backup.ts'

/** Where Debian-based systems put the oldest Postgres that Keyrail supports. */
const oldestBin = '/usr/lib/postgresql/15/bin'
const hasOldest = existsSync(oldestBin)

const clusters: Record<string, ScratchCluster> = {}

before(async () => {
  clusters.embedded = await startScratchCluster({})
  if (hasOldest) clusters['15'] = await startScratchCluster({ bin: oldestBin })
})
after(async () => {
  for (const cluster of Object.values(clusters)) await cluster.remove()
})

test('CI has Postgres 15 to back up from and restore to', () => {
  assert.ok(hasOldest || !process.env.CI, `${oldestBin} is missing; install postgresql-15`)
})

const pairs = hasOldest
  ? [
      ['embedded', '15'],
      ['15', 'embedded'],
      ['15', '15'],
    ]
  : [['embedded', 'embedded']]

for (const [from = '', to = ''] of pairs) {
  test(`a backup from Postgres ${from} restores into Postgres ${to}, row for row`, async () => {
    const source = await databaseOn(from)
    await migrate(source)
    const [{ id } = { id: '' }] = (await query(
      source,
      `insert into workspaces (id, name, slug, embed_origins, created_at, updated_at) values
         (gen_random_uuid(), E'tab\\t, \\\\. and \\u00e9', 'acme', '{https://a.example,"https://b\\"c.example"}', now(), '2024-02-29')
       returning id`,
    )) as { id: string }[]
    await query(
      source,
      `insert into projects (workspace_id, id, name, slug, default_rate_limits, created_at, updated_at)
         values ($1, $1, 'Pay', 'pay', $2, now(), now())`,
      [id, '[{"id":"a","limit":1,"window_ms":1000,"algorithm":"fixed","scope":"key"}]'],
    )
    await query(source, 'insert into policy_heads (workspace_id, project_id, version) values ($1, $1, 9)', [
      id,
    ])
    await query(
      source,
      `insert into tenants (workspace_id, id, external_id, meta, created_at, updated_at)
         values ($1, $1, 'é', $2, now(), now())`,
      [id, ` { "b": 1.0, "b" : "\\n\\u0000", "a": ${JSON.stringify('\\.\n'.repeat(9000))} } `],
    )
    await query(source, 'insert into service_secrets (name, sealed) values ($1, $2)', [
      'any',
      randomBytes(999),
    ])
    const file = freshPath()
    const { header } = await backup(source, file)
    assert.equal(header.postgres, clusters[from]?.serverVersion)
    const target = await databaseOn(to)
    await restore(target, file)
    assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source, comparable))
  })
}

async function databaseOn(name: string) {
  const cluster = clusters[name]
  assert.ok(cluster)
  return (await makeDatabase(cluster.connection, true)).connection
}

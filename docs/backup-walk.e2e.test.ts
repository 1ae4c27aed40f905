import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase, query } from '../packages/server/test/dump-contents.ts'
import { urlOf } from '../packages/server/test/installation.ts'
import { until } from '../packages/server/test/until.ts'
import { RunbookStage } from './runbook-stage.ts'
import { stepsOf } from './runbook-steps.ts'

test('backup late: what was not checked is seen, its cause is repaired, and one is made by hand', async () => {
  const connection = await freshDatabase(false)
  const stage = new RunbookStage(connection)
  await stage.start()
  const { tenantId } = await stage.makeScene()
  const folder = join(stage.shell.folder, 'backups')
  mkdirSync(folder)
  assert.equal(stage.shell.run('age-keygen -o backup.key').status, 0)
  const recipient = stage.shell.run('age-keygen -y backup.key').stdout.trim()
  const given = { KEYRAIL_BACKUPS: folder, KEYRAIL_BACKUP_RECIPIENT: recipient }
  // Written past Keyrail, as the last step says.
  const check = 'tenants_external_id_bounds check (char_length(external_id) between 1 and 200)'
  const [{ external_id: was }] = (await query(
    connection,
    `select external_id from tenants where id = '${tenantId}'`,
  )) as [{ external_id: string }]
  await query(connection, 'alter table tenants drop constraint tenants_external_id_bounds')
  await query(connection, `update tenants set external_id = '' where id = '${tenantId}'`)

  const repeated = stage.installation.start(['backup', folder, '--every', '6h', '--recipient', recipient])
  await until(() => repeated.output.err.includes('tenants_external_id_bounds'))
  const [look = '', byHand = ''] = stepsOf('backup-late', 'sh')
  assert.match(stage.shell.run(look, given).stdout, /keyrail-\w+\.unchecked\.keyrail\.age\n/)

  await query(connection, `update tenants set external_id = '${was}' where id = '${tenantId}'`)
  await query(connection, `alter table tenants add constraint ${check}`)
  const made = stage.shell.run(byHand, given)
  assert.equal(made.status, 0, made.stderr)
  repeated.child.kill('SIGTERM')
  assert.equal((await repeated.ended).code, 1)
  await stage.stop()

  const scratch = await freshDatabase(true)
  const restored = stage.shell.run(`keyrail restore "$KEYRAIL_BACKUPS/by-hand.age" --identity backup.key`, {
    ...given,
    DATABASE_URL: urlOf(scratch),
  })
  assert.equal(restored.status, 0, restored.stderr)
  assert.equal((await query(scratch, `select from tenants where id = '${tenantId}'`)).length, 1)
})

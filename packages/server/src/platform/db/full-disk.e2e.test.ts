import assert from 'node:assert/strict'
import { chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import { startHarness } from '../../../test/harness.ts'
import { startScratchCluster } from '../../../test/scratch.ts'
import { mayMount, mountSmallDisk } from '../../../test/small-disk.ts'
import { until } from '../../../test/until.ts'
import { issueKey, makeVendor } from '../../../test/vendor.ts'
import { faultsOf } from '../../../test/whole.ts'
import { migrate } from './migrate/migrate.ts'

/** Mounting takes root. */
if (mayMount)
  describe('a Postgres whose tables have no room left', () => {
    test('changes are 503, reads and polls go on, and with room everything does', async () => {
      const disk = mountSmallDisk(64)
      const cluster = await startScratchCluster()
      const place = join(disk.directory, 'tables')
      mkdirSync(place)
      const { uid, gid } = statSync(cluster.dataDirectory)
      chownSync(place, uid, gid)
      const client = new pg.Client(cluster.connection)
      await client.connect()
      await client.query(`create tablespace small location '${place}'`)
      await client.query('create database small tablespace small')
      await client.end()
      const connection = { ...cluster.connection, database: 'small' }
      await migrate(connection)
      const drop = async () => {
        await cluster.remove()
        disk.unmount()
      }
      const harness = await startHarness({}, { connection, drop })
      const { ask, query, logged } = harness
      const { metrics } = harness.deps
      const vendor = await makeVendor(harness)
      const { id } = await issueKey(harness, vendor)
      const meta = { note: 'x'.repeat(30_000) }
      const create = () =>
        ask('POST', '/v1/keys', {
          token: vendor.live,
          body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live', meta },
        })
      /** What an alert reads. */
      const refusals = async () =>
        /^keyrail_database_refusals_total\{reason="disk_full"\} (\d+)$/m.exec(await metrics.text())?.[1]
      const read = (path: string) => ask('GET', path, { token: vendor.live })

      assert.equal(await refusals(), '0')
      disk.fill()
      // Pages that the tables have already take a few more rows.
      let answer = await create()
      for (let n = 0; n < 200 && answer.status === 201; n++) answer = await create()
      assert.deepEqual([answer.status, answer.body.code], [503, 'unavailable'])
      assert.ok(Number(await refusals()) > 0)
      assert.ok(logged.some(line => /could not extend file/.test(line)))
      for (const path of ['/v1/keys', `/v1/policy/delta?project_id=${vendor.projectId}&since=1`, '/healthz'])
        assert.equal((await read(path)).status, 200, path)
      // Nodes poll on through this process, so it stays where traffic goes.
      assert.equal((await read('/readyz')).status, 200)

      disk.clear()
      await until(async () => (await create()).status === 201)
      const revoked = await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
      assert.equal(revoked.status, 200)
      assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
    })
  })

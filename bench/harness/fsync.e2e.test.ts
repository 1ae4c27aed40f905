import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFdatasync, probeFsync } from './fsync.ts'
import { findPostgresTool } from './postgres-tools.ts'

const REPORT = `Compare file sync methods using one 8kB write:
        open_datasync                     26379.156 ops/sec      38 usecs/op
        fdatasync                         24572.993 ops/sec      41 usecs/op
Compare file sync methods using two 8kB writes:
        fdatasync                         18624.609 ops/sec      54 usecs/op
`

test('the figure is fdatasync of one write, once its line is complete', () => {
  assert.equal(parseFdatasync(REPORT), 24_572.993)
  assert.equal(parseFdatasync(REPORT.slice(0, REPORT.indexOf('993'))), undefined)
  assert.equal(parseFdatasync('   fsync  1 ops/sec\n'), undefined)
})

test('the probe returns a figure exactly where pg_test_fsync is installed', async () => {
  const fsync = await probeFsync()
  assert.equal((fsync?.perSecond ?? 0) > 0, findPostgresTool('pg_test_fsync') !== undefined)
})

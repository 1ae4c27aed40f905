import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coresOf } from './cores.ts'

const on = (files: Readonly<Record<string, string>>, shown = 8) => coresOf(path => files[path], shown)

test('without a quota all cores count that the system shows', () => {
  assert.equal(on({}), 8)
  assert.equal(on({ '/proc/self/cgroup': '0::/a\n', '/sys/fs/cgroup/a/cpu.max': 'max 100000\n' }), 8)
  const none = {
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1',
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
  }
  assert.equal(on({ '/proc/self/cgroup': '1:cpu:/\n', ...none }), 8)
})

test('a quota of version 2 counts, also of a group above, in whole cores and at least one', () => {
  const group = { '/proc/self/cgroup': '0::/a/b\n' }
  assert.equal(on({ ...group, '/sys/fs/cgroup/a/b/cpu.max': '400000 100000\n' }), 4)
  assert.equal(on({ ...group, '/sys/fs/cgroup/a/cpu.max': '250000 100000\n' }), 2)
  assert.equal(on({ ...group, '/sys/fs/cgroup/cpu.max': '20000 100000\n' }), 1)
  assert.equal(on({ ...group, '/sys/fs/cgroup/a/b/cpu.max': '1600000 100000\n' }), 8)
})

test('a quota of version 1 counts, also where a container sees its group as the root', () => {
  const at = (folder: string) => ({
    '/proc/self/cgroup': '4:memory:/x\n1:cpu,cpuacct:/docker/1f\n0::/\n',
    [`${folder}/cpu.cfs_quota_us`]: '300000\n',
    [`${folder}/cpu.cfs_period_us`]: '100000\n',
  })
  for (const folder of ['/sys/fs/cgroup/cpu,cpuacct/docker/1f', '/sys/fs/cgroup/cpu'])
    assert.equal(on(at(folder)), 3)
  assert.equal(on(at('/sys/fs/cgroup/memory')), 8)
})

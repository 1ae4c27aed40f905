import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRedis } from '../../../test/redis-server.ts'
import { checkRedis } from './redis.ts'

test('the doctor reports a Redis that works, evicts counters, needs a password, or is down', async () => {
  assert.deepEqual(await checkRedis({ redisUrl: null }), [])
  const kept = ['--appendonly', 'yes']
  const plain = await startRedis(kept)
  const look = async (redisUrl: string) => {
    const [check] = await checkRedis({ redisUrl })
    return `${check?.status}: ${check?.message}`
  }
  assert.match(await look(plain.url), /^ok: Redis \d+\.\d+\.\d+ at 127\.0\.0\.1:\d+$/)
  assert.match(
    await look((await startRedis([...kept, '--cluster-enabled', 'yes'])).url),
    /^ok: Redis Cluster \d/,
  )
  const evicting = await startRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'])
  assert.match(await look(evicting.url), /^warning: .* may evict counters \(allkeys-lru\)$/)
  const unbounded = await startRedis(['--maxmemory-policy', 'volatile-ttl'])
  assert.match(await look(unbounded.url), /^warning: .* may evict counters \(volatile-ttl\)$/)
  const full = await startRedis(['--maxmemory', '1mb', '--maxmemory-policy', 'noeviction'])
  assert.match(await look(full.url), /^warning: .* uses \d+ % of its maxmemory$/)
  const locked = await startRedis(['--requirepass', 'right-word'])
  const found = await look(locked.url.replace('//', '//:wrong-word@'))
  assert.match(found, /^fault: .* rejects the login: WRONGPASS/)
  assert.doesNotMatch(found, /right-word|wrong-word/)
  await plain.kill()
  assert.match(await look(plain.url), /^fault: Redis cannot be reached: .*ECONNREFUSED/)
})

test('the doctor reports a Redis that a restart empties, and one that does not report it', async () => {
  const look = async (redisUrl: string) => {
    const [check] = await checkRedis({ redisUrl })
    return `${check?.status}: ${check?.message}`
  }
  const nothing = await startRedis()
  assert.match(await look(nothing.url), /^warning: .* keeps nothing on its disk$/)
  const snapshots = await startRedis(['--save', '3600 1'])
  assert.match(await look(snapshots.url), /^ok: Redis \S+ at 127\.0\.0\.1:\d+$/)
  const file = await startRedis(['--appendonly', 'yes'])
  assert.match(await look(file.url), /^ok: Redis \S+ at 127\.0\.0\.1:\d+$/)
  const silent = await startRedis(['--rename-command', 'CONFIG', ''])
  assert.match(await look(silent.url), /^ok: .* does not report whether it saves snapshots$/)
})

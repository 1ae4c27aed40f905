import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRedis } from '../../test/redis-server.ts'
import { checkRedis } from './doctor-redis.ts'

test('the doctor tells of a Redis that is well, that throws counters away, that is locked and that is gone', async () => {
  assert.deepEqual(await checkRedis({ redisUrl: null }), [])
  const plain = await startRedis()
  const look = async (redisUrl: string) => {
    const [check] = await checkRedis({ redisUrl })
    return `${check?.status}: ${check?.message}`
  }
  assert.match(await look(plain.url), /^ok: Redis \d+\.\d+\.\d+ at 127\.0\.0\.1:\d+$/)
  assert.match(await look((await startRedis(['--cluster-enabled', 'yes'])).url), /^ok: Redis Cluster \d/)
  const evicting = await startRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'])
  assert.match(await look(evicting.url), /^warning: .* may throw counters away \(allkeys-lru\)$/)
  const locked = await startRedis(['--requirepass', 'right-word'])
  const told = await look(locked.url.replace('//', '//:wrong-word@'))
  assert.match(told, /^fault: .* does not let us in: WRONGPASS/)
  assert.doesNotMatch(told, /right-word|wrong-word/)
  await plain.kill()
  assert.match(await look(plain.url), /^fault: Redis cannot be reached: .*ECONNREFUSED/)
})

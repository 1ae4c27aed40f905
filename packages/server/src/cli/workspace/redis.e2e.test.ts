import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Redis } from 'ioredis'
import { ask, Installation } from '../../../test/installation.ts'
import { startRedis } from '../../../test/redis-server.ts'

/** What `keyrail workspace delete` does where rate-limit counters are in Redis. */
const redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always'])
const admin = new Redis(redis.url)
admin.on('error', () => {})
after(() => admin.disconnect())
const installation = new Installation({ REDIS_URL: redis.url })
after(() => installation.remove())
const service = await installation.serve()

const remove = (...flags: string[]) => installation.start(['workspace', 'delete', ...flags]).ended

/** A workspace with counters of two keys, in both environments. */
async function spend(slug: string): Promise<string> {
  const body = { name: 'Acme', slug }
  const made = await ask(`${service.url}/v1/workspaces`, { token: installation.token, body })
  const token = made?.body.secret_key.key as string
  const limits = [{ id: 'a', limit: 9, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }]
  for (const env of ['live', 'test'])
    for (const key_id of [randomUUID(), randomUUID()]) {
      const check = { project_id: randomUUID(), env, key_id, limits }
      const answer = await ask(`${service.url}/v1/ratelimit/check`, { token, body: check })
      assert.equal(answer?.status, 200)
    }
  return made?.body.id as string
}

const countersOf = async (id: string) => (await admin.keys(`keyrail:{${id}:*}:key:*`)).length

test('workspace delete leaves no counter in Redis, and those of others stay', async () => {
  const [doomed, kept] = [await spend('doomed'), await spend('kept')]
  const { code, out } = await remove(doomed, '--yes', '--json')
  assert.equal(code, 0)
  assert.ok(JSON.parse(out).removed.redis_counters >= 4, out)
  assert.deepEqual([await countersOf(doomed), await countersOf(kept)], [0, 4])
})

test('while Redis is away workspace delete says so, and removes the counters when it runs again', async () => {
  const doomed = await spend('later')
  await redis.kill()
  const { code, err } = await remove(doomed, '--yes')
  assert.equal(code, 1)
  assert.match(err, /is removed, but not its rate-limit counters in Redis: .*Run the command again/s)
  await redis.start()
  assert.equal((await remove(doomed, '--yes')).code, 0)
  assert.equal(await countersOf(doomed), 0)
  const again = await remove(doomed, '--yes')
  assert.match(again.err, /does not exist/)
})

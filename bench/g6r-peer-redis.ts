import type { Bench } from './harness/bench.ts'
import { limiterRace } from './service/limiter-race.ts'
import { scratchRedis } from './service/redis.ts'

export const bench: Bench = {
  name: 'G6R',
  title: 'Checks in lists of 32 on Redis, against rate-limiter-flexible behind the same Fastify, a call each',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 2, moonshot: 3 },
  async arms(run) {
    const redis = await run.use(scratchRedis())
    return await limiterRace(run, redis)
  },
}

import type { Bench } from './harness/bench.ts'
import { limiterRace } from './service/limiter-race.ts'
import { scratchRedis } from './service/redis.ts'

export const bench: Bench = {
  name: 'G6R',
  title: 'The whole check on Redis, against rate-limiter-flexible behind the same Fastify',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 1, moonshot: 1.5 },
  async arms(run) {
    const redis = await run.use(scratchRedis())
    return await limiterRace(run, redis)
  },
}

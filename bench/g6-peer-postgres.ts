import type { Bench } from './harness/bench.ts'
import { limiterRace } from './service/limiter-race.ts'

/** The peer charges with one statement a request; ours charges concurrent requests together. */
export const bench: Bench = {
  name: 'G6',
  title: 'The whole check on Postgres, against rate-limiter-flexible behind the same Fastify',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 3, moonshot: 5 },
  arms: run => limiterRace(run, null),
}

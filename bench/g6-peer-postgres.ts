import type { Bench } from './harness/bench.ts'
import { limiterRace } from './service/limiter-race.ts'

/** The peer charges by one statement a request; ours carries what arrives together. */
export const bench: Bench = {
  name: 'G6',
  title: 'The whole check on Postgres, against rate-limiter-flexible behind the same Fastify',
  goal: { metric: 'requests/s', direction: 'at least', floor: 3, moonshot: 5 },
  arms: run => limiterRace(run, null),
}

import { fanOut, INTERVAL_MS } from './service/fleet-fan-out.ts'

/** How long a fleet still accepts a revoked key: 1,000 nodes, or as many as BENCH_NODES says. */

const NODES = Number(process.env.BENCH_NODES ?? 1_000)

const POLLED_P99_MS = INTERVAL_MS + 250
const HELD_P99_MS = 250

export const bench = fanOut(NODES, {
  name: 'G13',
  goals: [
    {
      metric: 'polled p99 ms',
      compare: 'value',
      direction: 'at most',
      floor: POLLED_P99_MS,
      moonshot: POLLED_P99_MS,
    },
    {
      metric: 'polled max ms',
      compare: 'value',
      direction: 'at most',
      floor: 1.2 * INTERVAL_MS,
      moonshot: 1.2 * INTERVAL_MS,
    },
    {
      metric: 'held p99 ms',
      compare: 'value',
      direction: 'at most',
      floor: HELD_P99_MS,
      moonshot: HELD_P99_MS,
    },
    { metric: 'answers of 503', compare: 'value', direction: 'at most', floor: null, moonshot: 0 },
  ],
})

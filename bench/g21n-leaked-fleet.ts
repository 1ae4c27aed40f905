import { fanOut, INTERVAL_MS } from './service/fleet-fan-out.ts'

/** How long a fleet of 1,000 nodes still accepts a key that a code host has reported as leaked. */

const LAST_MS = INTERVAL_MS + 500

export const bench = fanOut(1_000, {
  name: 'G21N',
  held: true,
  by: 'code host',
  goals: [
    { metric: 'polled max ms', compare: 'value', direction: 'at most', floor: LAST_MS, moonshot: LAST_MS },
    { metric: 'held max ms', compare: 'value', direction: 'at most', floor: null, moonshot: 500 },
    { metric: 'answers of 503', compare: 'value', direction: 'at most', floor: null, moonshot: 0 },
  ],
})

import { hash } from 'node:crypto'
import { BenchFault } from '../harness/bench.ts'
import { atOnce } from './at-once.ts'
import { keyOf } from './told-keys.ts'

/** Keys that one side has issued, as a process of it gets them. */
export type IssuedKeys = {
  /** In the order in which they are verified. */
  valid: readonly IssuedKey[]
  /** Ended by whoever may. */
  ended: readonly IssuedKey[]
  /** Their time has passed. */
  expired: readonly IssuedKey[]
}
export type IssuedKey = { key: string; id: string }

/** Verifies a key; the id that it is known by, or null where it is refused. */
export type Verify = (key: string) => Promise<string | null> | string | null

/** How many of each kind were found to be what they are: the same for every side. */
export type KeyVerdicts = { valid: number; ended: number; expired: number; mistyped: number; unknown: number }

/** Of the valid ones, so that a side that takes a millisecond for each is done in a second. */
const VALID_MAX = 1_000
const UNKNOWN = 50

/**
 * Not timed: that keys are known as what they are, and that all others are refused.
 *
 * @throws BenchFault when one is not
 */
export async function checkVerdicts(
  verify: Verify,
  { valid, ended, expired }: IssuedKeys,
  lanes: number,
): Promise<KeyVerdicts> {
  const known = valid.slice(0, VALID_MAX)
  const unknown = Array.from({ length: UNKNOWN }, (_, number) => keyOf(number))
  await atOnce(known, lanes, async ({ key, id }) => {
    const found = await verify(key)
    if (found !== id) throw new BenchFault(`key ${id} is taken for ${found ?? 'none'}`)
  })
  const refused = async (kind: string, keys: readonly string[]) => {
    await atOnce(keys, lanes, async key => {
      if ((await verify(key)) !== null) throw new BenchFault(`a key that is ${kind} was let through`)
    })
    return keys.length
  }
  return {
    valid: known.length,
    ended: await refused(
      'ended',
      ended.map(({ key }) => key),
    ),
    expired: await refused(
      'expired',
      expired.map(({ key }) => key),
    ),
    mistyped: await refused(
      'mistyped',
      known.slice(0, UNKNOWN).map(({ key }) => key.slice(0, -1) + (key.endsWith('x') ? 'y' : 'x')),
    ),
    unknown: await refused('unknown', unknown),
  }
}

/** The numbers below `count` in an order that is random, and the same on every side. */
export const verifyingOrder = (count: number): number[] =>
  Array.from({ length: count }, (_, number) => ({ number, place: hash('sha256', `place ${number}`) }))
    .sort((one, other) => (one.place < other.place ? -1 : 1))
    .map(({ number }) => number)

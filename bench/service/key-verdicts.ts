import { hash } from 'node:crypto'
import { BenchFault } from '../harness/bench.ts'
import { atOnce } from './at-once.ts'
import { keyOf } from './feed-keys.ts'

/** Keys that one side has issued, in its process's form. */
export type IssuedKeys = {
  /** In the order in which they are verified. */
  valid: readonly IssuedKey[]
  /** Revoked or otherwise ended. */
  ended: readonly IssuedKey[]
  /** Expired. */
  expired: readonly IssuedKey[]
}
export type IssuedKey = { key: string; id: string }

/** Verifies a key. @returns its id, or null for a refused one. */
export type Verify = (key: string) => Promise<string | null> | string | null

/** How many of each kind were judged correctly: the same for every side. */
export type KeyVerdicts = { valid: number; ended: number; expired: number; mistyped: number; unknown: number }

/** Share of the valid ones, so that a side that takes a millisecond for each is done in a second. */
const VALID_MAX = 1_000
const UNKNOWN = 50

/**
 * Not timed: each valid key is known by its id, and all others are refused.
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
    if (found !== id) throw new BenchFault(`key ${id} was found as ${found ?? 'none'}`)
  })
  const refused = async (kind: string, keys: readonly string[]) => {
    await atOnce(keys, lanes, async key => {
      if ((await verify(key)) !== null) throw new BenchFault(`a key that is ${kind} was accepted`)
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

/** The numbers below `count` in a random order, the same on every side. */
export const verifyingOrder = (count: number): number[] =>
  Array.from({ length: count }, (_, number) => ({ number, place: hash('sha256', `place ${number}`) }))
    .sort((one, other) => (one.place < other.place ? -1 : 1))
    .map(({ number }) => number)

import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

/** The first looks come without a pause, because a change within this process is quick. */
const looksAtOnce = 100
const lookEveryMs = 10
/** 90 s or more: far longer than any state in a test takes, and shorter than the runner waits for a file of the inner ring. */
const looksMost = 9_000

/**
 * Looks at a state that no event announces, until it holds.
 * @param what the state in words; by default the source of the condition.
 * @throws if it does not hold after so many looks, so that the test fails instead of hanging.
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string = holds.toString(),
  most: number = looksMost,
): Promise<void> {
  for (let looks = 0; looks < most; looks += 1) {
    if (await holds()) return
    await (looks < looksAtOnce ? setImmediate() : sleep(lookEveryMs))
  }
  throw new Error(`still waiting until ${what}`)
}

import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until something holds, and says what did not when the test's patience ends. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`still waiting until ${what}`)
    await sleep(5)
  }
}

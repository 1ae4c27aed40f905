import { uptime } from 'node:os'
import { type Clock, systemClock } from './clock.ts'

/** A machine tells how long it runs by whole seconds in places. */
const SLACK_MS = 3_000
const EVERY_MS = 1_000

/**
 * The clock that is never set stands still while a machine sleeps, and keys would outlive their time by that. How long the
 * machine has been running goes on, so what that is ahead by was slept, and is added, within a second of waking.
 */
export function openAwakeClock(
  clock: Clock,
  uptimeMs = clock === systemClock ? ownUptimeMs : undefined,
): Clock & { close(): void } {
  let sleptMs = 0
  const aheadMs = () => Number(uptimeMs?.()) - clock.monotonic()
  const from = aheadMs()
  const timer = setInterval(() => {
    const slept = aheadMs() - from
    if (slept > sleptMs + SLACK_MS) sleptMs = slept
  }, EVERY_MS)
  if (typeof timer === 'object') timer.unref()
  if (Number.isNaN(from)) clearInterval(timer)
  return {
    wall: () => clock.wall(),
    monotonic: () => clock.monotonic() + sleptMs,
    close: () => clearInterval(timer),
  }
}

/** Deno tells it only where that is allowed. */
function ownUptimeMs(): number {
  try {
    return uptime() * 1_000
  } catch {
    return Number.NaN
  }
}

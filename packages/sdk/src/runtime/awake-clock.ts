import { uptime } from 'node:os'
import { type Clock, systemClock } from './clock.ts'

/** Some systems report their uptime in whole seconds. */
const SLACK_MS = 3_000
const EVERY_MS = 1_000

/**
 * A monotonic clock may stand still while a machine sleeps, and keys would be served for longer than allowed. The uptime of
 * the machine continues, so this adds the difference, within a second of waking.
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
    pause: clock.pause,
    close: () => clearInterval(timer),
  }
}

/** Deno needs a permission for it. */
function ownUptimeMs(): number {
  try {
    return uptime() * 1_000
  } catch {
    return Number.NaN
  }
}

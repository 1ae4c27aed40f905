import { uptime } from 'node:os'
import { type Clock, systemClock } from './clock.ts'

/** Some systems report their uptime in whole seconds, others in hundredths. */
const COARSE_MS = 1_000
const FINE_MS = 20
const SLACK_MS = 3_000
const EVERY_MS = 1_000
/** The two clocks of a machine may differ by so much without a reason. */
const JUMP_MS = 50
/** Reading the wall clock takes a tenth of a verification, so many verifications share one reading. */
const LOOK_MS = 1

/**
 * A monotonic clock may stand still while a machine sleeps, and keys would be served for longer than allowed. The uptime of
 * the machine continues, so this adds the difference. Readings compare the wall clock, which continues too, once in a
 * millisecond: a jump of it counts as sleep as far as the uptime agrees. So setting the clock changes nothing, or, where the
 * uptime is in whole seconds, at most one. If the clock was set back as well, a timer notices within a second.
 */
export function openAwakeClock(
  clock: Clock,
  uptimeMs = clock === systemClock ? ownUptimeMs : undefined,
): Clock & { close(): void } {
  let sleptMs = 0
  const readUptime = () => Number(uptimeMs?.())
  const from = readUptime() - clock.monotonic()
  const canTell = !Number.isNaN(from)
  const since = (uptime: number) => uptime - clock.monotonic() - from
  let wallAhead = clock.wall() - clock.monotonic()
  const timer = setInterval(() => {
    const slept = since(readUptime())
    if (slept > sleptMs + SLACK_MS) sleptMs = slept
  }, EVERY_MS)
  if (typeof timer === 'object') timer.unref()
  if (!canTell) clearInterval(timer)
  const jumped = (gained: number) => {
    wallAhead += gained
    const uptime = readUptime()
    const slept = since(uptime) - sleptMs
    const precision = uptime % COARSE_MS ? FINE_MS : COARSE_MS
    if (gained > 0 && (precision > FINE_MS || slept > FINE_MS))
      sleptMs += Math.min(gained, Math.max(0, slept) + precision)
  }
  let lookedAt = Number.NEGATIVE_INFINITY
  const awake = (): number => {
    const now = clock.monotonic()
    if (now - lookedAt < LOOK_MS) return now + sleptMs
    lookedAt = now
    const gained = clock.wall() - now - wallAhead
    if (gained > JUMP_MS || gained < -JUMP_MS) jumped(gained)
    return now + sleptMs
  }
  return {
    wall: () => clock.wall(),
    monotonic: canTell ? awake : () => clock.monotonic(),
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

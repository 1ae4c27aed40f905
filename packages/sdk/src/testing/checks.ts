import type { RateLimitCheck, RateLimitVerdict } from '../http/call-types.ts'

type Rule = RateLimitCheck['limits'][number]

/** The cost spent in the current window and in the one before. */
interface Cell {
  start: number
  previous: number
  current: number
}

/** Answers checks as the service does: windows begin at multiples of their length, and all limits are charged or none. */
export function answerChecks(now: () => number) {
  const cells = new Map<string, Cell>()
  const answers = {
    'ratelimit/checks': ({ checks }: { checks: readonly RateLimitCheck[] }) => ({
      object: 'ratelimit_checks',
      checks: checks.map(check => answers['ratelimit/check'](check)),
    }),
    'ratelimit/check'({ env, key_id, tenant_id, cost = 1, limits }: RateLimitCheck): RateLimitVerdict {
      const at = now()
      const counters = limits.map(rule => {
        const { id, algorithm, window_ms, scope } = rule
        const name = `${env} ${scope} ${scope === 'key' ? key_id : tenant_id} ${id} ${algorithm} ${window_ms}`
        const cell = cellAt(cells.get(name), window_ms, at)
        return { rule, name, cell, retryMs: retryMs(cell, rule, cost, at) }
      })
      const allowed = counters.every(counter => counter.retryMs === 0)
      if (allowed) {
        for (const { name, cell } of counters) {
          cell.current += cost
          cells.set(name, cell)
        }
      }
      const states = counters.map(({ rule, cell, retryMs }) => ({
        ...rule,
        allowed: retryMs === 0,
        remaining: Math.max(0, rule.limit - used(cell, rule, at)),
        reset_ms: cell.start + rule.window_ms - at,
      }))
      const waits = counters.map(({ retryMs }) => retryMs ?? Number.POSITIVE_INFINITY)
      const wait = Math.max(...waits)
      const retryAfterMs = allowed || wait === Number.POSITIVE_INFINITY ? null : wait
      return {
        object: 'ratelimit_check',
        allowed,
        cost,
        denied_by: states.filter(limit => !limit.allowed).map(({ id }) => id),
        retry_after_ms: retryAfterMs,
        limits: states,
        headers: {
          'RateLimit-Policy': limits
            .map(({ id, limit, window_ms }) => `"${id}";q=${limit};w=${seconds(window_ms)}`)
            .join(', '),
          RateLimit: states
            .map(({ id, remaining, reset_ms }) => `"${id}";r=${remaining};t=${seconds(reset_ms)}`)
            .join(', '),
          ...(retryAfterMs !== null && { 'Retry-After': String(seconds(retryAfterMs)) }),
        },
      }
    },
  }
  return answers
}

function cellAt(cell: Cell | undefined, window: number, now: number): Cell {
  const start = now - (now % window)
  if (cell?.start === start) return cell
  return { start, previous: cell?.start === start - window ? cell.current : 0, current: 0 }
}

/** `floor(a × b / c)`, also if the product exceeds a safe integer. */
const mulDiv = (a: number, b: number, c: number): number => Number((BigInt(a) * BigInt(b)) / BigInt(c))

/** A sliding window counts the share of the previous window that the last `window_ms` cover, rounded up. */
const used = ({ start, previous, current }: Cell, { algorithm, window_ms }: Rule, now: number): number =>
  algorithm === 'fixed' ? current : current + previous - mulDiv(previous, now - start, window_ms)

/** Time until the cost fits; 0: it fits now; null: never. */
function retryMs(cell: Cell, rule: Rule, cost: number, now: number): number | null {
  const { limit, window_ms, algorithm } = rule
  const free = limit - cost
  if (used(cell, rule, now) <= free) return 0
  if (free < 0) return null
  const left = cell.start + window_ms - now
  if (algorithm === 'fixed') return left
  // How far into a window the previous one counts for no more than the free units.
  const covered = (before: number, most: number) =>
    before <= most ? 0 : window_ms - mulDiv(most, window_ms, before)
  return cell.current <= free
    ? left - window_ms + covered(cell.previous, free - cell.current)
    : left + covered(cell.current, free)
}

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

import type { RateLimit } from '@keyrail/contract/shared'

/**
 * The arithmetic of a counter, in whole numbers that a double holds exactly: two stores and a reference model agree to
 * the last unit. Windows are aligned to the epoch. `sliding` also counts the part of the previous window that the last
 * `window_ms` still cover, as if it had been spent evenly.
 */
export type Rule = RateLimit

/** What was spent in the current window and in the previous one. */
export interface Cell {
  /** When the current window began, milliseconds since 1970. */
  start: number
  previous: number
  current: number
}

/** Names a counter of a subject, without its limit: a changed limit keeps its counter. An id contains no space. */
export const counterName = ({ id, algorithm, window_ms }: Rule): string => `${id} ${algorithm} ${window_ms}`

/**
 * The cell at a moment. If the clock was set back, the cell stays in the window that had begun. A fixed window ignores the
 * previous window, so that a store need not keep it.
 */
export function cellAt(cell: Cell | undefined, { window_ms, algorithm }: Rule, now: number): Cell {
  const start = Math.floor(now / window_ms) * window_ms
  if (cell !== undefined && start <= cell.start) return cell
  const follows = windowsCounted[algorithm] === 2 && start - window_ms === cell?.start
  return { start, previous: follows ? cell.current : 0, current: 0 }
}

/** How much counts against the limit at a moment, rounded up. */
export function used(cell: Cell, rule: Rule, now: number): number {
  switch (rule.algorithm) {
    case 'fixed':
      return cell.current
    case 'sliding': {
      const left = rule.window_ms - elapsed(cell, now)
      return cell.current + mulDivUp(cell.previous, left, rule.window_ms)
    }
    default:
      throw unknown(rule.algorithm)
  }
}

/** How many windows a counter counts. A new algorithm does not compile without an entry here. */
const windowsCounted = { fixed: 1, sliding: 2 } as const satisfies Record<Rule['algorithm'], number>

const unknown = (algorithm: never) => new Error(`no arithmetic for ${String(algorithm)}`)

export const fits = (cell: Cell, rule: Rule, cost: number, now: number): boolean =>
  used(cell, rule, now) + cost <= rule.limit

export const remaining = (cell: Cell, rule: Rule, now: number): number =>
  Math.max(0, rule.limit - used(cell, rule, now))

/** Milliseconds until the current window ends. */
export const resetMs = (cell: Cell, rule: Rule, now: number): number => cell.start + rule.window_ms - now

/** Milliseconds until the cost fits if nothing else is spent; 0: it fits now; null: it never will. */
export function retryMs(cell: Cell, rule: Rule, cost: number, now: number): number | null {
  if (fits(cell, rule, cost, now)) return 0
  const { limit, window_ms: window } = rule
  if (cost > limit) return null
  const end = cell.start + window
  switch (rule.algorithm) {
    case 'fixed':
      return end - now
    case 'sliding': {
      // Enough of the previous window must slide away: in this window, or in the next one, whose previous window is this one.
      const left = limit - cell.current - cost
      if (left >= 0) return cell.start + untilCovered(cell.previous, left, window) - now
      return end + untilCovered(cell.current, limit - cost, window) - now
    }
    default:
      throw unknown(rule.algorithm)
  }
}

/** How far into a window at most `left` of the previous window still counts. */
const untilCovered = (before: number, left: number, window: number): number =>
  before <= left ? 0 : window - mulDivDown(left, window, before)

const elapsed = (cell: Cell, now: number) => Math.max(0, now - cell.start)

/** When the cell can no longer deny: a sliding window still counts the previous one. */
export const cellEnds = (
  cell: Cell,
  { window_ms, algorithm }: Pick<Rule, 'window_ms' | 'algorithm'>,
): number => cell.start + windowsCounted[algorithm] * window_ms

/** `floor(a × b / c)` for whole numbers up to 2^32, whose product may exceed 2^53: a is split into halves of 16 bits. */
export function mulDivDown(a: number, b: number, c: number): number {
  const high = Math.floor(a / 65_536)
  const product = high * b
  const quotient = Math.floor(product / c)
  const rest = (product - quotient * c) * 65_536 + (a - high * 65_536) * b
  return quotient * 65_536 + Math.floor(rest / c)
}

/** `ceil(a × b / c)` for b ≤ c. */
const mulDivUp = (a: number, b: number, c: number): number => a - mulDivDown(c - b, a, c)

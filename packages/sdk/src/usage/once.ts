import type { UsageReporter } from './reporter.ts'

type Counter = Pick<UsageReporter, 'count'>

const counted = new WeakMap<Counter, WeakSet<object>>()

/** Whether a reporter has not been asked this about a request before: protection may stand there twice. */
export function isFirstCount(usage: Counter, exchange: object): boolean {
  const known = counted.get(usage) ?? new WeakSet()
  counted.set(usage, known)
  if (known.has(exchange)) return false
  known.add(exchange)
  return true
}

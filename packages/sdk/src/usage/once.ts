import type { UsageReporter } from './reporter.ts'

type Counter = Pick<UsageReporter, 'count'>

const counted = new WeakMap<Counter, WeakSet<object>>()

/** True only the first time for a reporter and a request, because several protections may see the same request. */
export function isFirstCount(usage: Counter, exchange: object): boolean {
  const known = counted.get(usage) ?? new WeakSet()
  counted.set(usage, known)
  if (known.has(exchange)) return false
  known.add(exchange)
  return true
}

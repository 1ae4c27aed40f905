import type { Networks } from './networks.ts'
import type { RateLimit } from './rate-limits.ts'

/**
 * Numbers values that many records share, such as tenant ids or lists of scopes, so that a record holds only the number.
 * Each value is kept once and frozen, so that a caller cannot change a key through its verdict.
 */
class SharedList<Value extends string | object> {
  readonly values: Value[] = []
  readonly #numbers = new Map<string, number>()
  readonly #sizeOf: (value: Value) => number
  /** What the values take in memory, by `sizeOf`. */
  bytes = 0

  constructor(sizeOf: (value: Value) => number = () => 0) {
    this.#sizeOf = sizeOf
  }

  /** Returns the number of a value, which is plain JSON or has its JSON. Keeps the first of equal values. */
  add(value: Value): number {
    const content = typeof value === 'string' ? value : JSON.stringify(value)
    const known = this.#numbers.get(content)
    if (known !== undefined) return known
    freeze(value)
    this.bytes += this.#sizeOf(value)
    this.#numbers.set(content, this.values.length)
    return this.values.push(value) - 1
  }

  get(number: number): Value {
    return this.values[number] as Value
  }
}

/** Values that many records share. Records hold their numbers. */
export interface Shared {
  tenants: SharedList<string>
  scopes: SharedList<readonly string[]>
  /** Number 0 is the empty list: no limits. */
  limits: SharedList<readonly RateLimit[]>
  /** Lists of keys that have one of their own. */
  networks: SharedList<Networks>
}

export function emptyShared(): Shared {
  const limits = new SharedList<readonly RateLimit[]>()
  limits.add([])
  return {
    tenants: new SharedList(),
    scopes: new SharedList(),
    limits,
    networks: new SharedList(({ bytes }) => bytes),
  }
}

/** Freezes plain JSON at every level. */
export function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

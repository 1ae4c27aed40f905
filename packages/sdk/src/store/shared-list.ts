/**
 * Values that many records share, such as tenant ids or lists of scopes, by a number that fits into a record. Each
 * is kept once and frozen, so that no caller widens a key through the verdict it was handed.
 */
export class SharedList<Value extends string | readonly unknown[]> {
  readonly values: Value[] = []
  readonly #numbers = new Map<string, number>()

  /** The number of a value: plain JSON. The first of each content is the one that is kept. */
  add(value: Value): number {
    const content = typeof value === 'string' ? value : JSON.stringify(value)
    const known = this.#numbers.get(content)
    if (known !== undefined) return known
    freeze(value)
    this.#numbers.set(content, this.values.length)
    return this.values.push(value) - 1
  }

  get(number: number): Value {
    return this.values[number] as Value
  }
}

/** Plain JSON that is frozen to its end. */
export function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

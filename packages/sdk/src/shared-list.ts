/**
 * One frozen instance of each value that many records share: a tenant id, a list of scopes, a set of limits.
 * It saves memory, and freezing keeps a caller from widening a key through the verdict it was handed.
 */
export class SharedValues {
  readonly #texts = new Map<string, string>()
  readonly #values = new Map<string, unknown>()

  get size(): number {
    return this.#texts.size + this.#values.size
  }

  text(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    this.#texts.set(text, text)
    return text
  }

  /** @param value plain JSON; the first of each content is frozen, all the way down, and kept */
  value<T extends object>(value: T): T {
    const content = JSON.stringify(value)
    const known = this.#values.get(content)
    if (known !== undefined) return known as T
    freeze(value)
    this.#values.set(content, value)
    return value
  }

  clear(): void {
    this.#texts.clear()
    this.#values.clear()
  }
}

function freeze(value: object): void {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freeze(part)
  Object.freeze(value)
}

/** Random choices that a seed repeats: mulberry32, with a full period of 2^32. Not for secrets. */
export interface Seeded {
  /** From 0 up to, but not including, `below`. */
  integer(below: number): number
  pick<T>(items: readonly T[]): T
  /** Picks an item by its weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T
}

export function seeded(seed: number): Seeded {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (below: number) => Math.floor(next() * below)
  return {
    integer,
    pick: items => {
      if (items.length === 0) throw new RangeError('nothing to pick from')
      return items[integer(items.length)] as (typeof items)[number]
    },
    weighted(weights) {
      const entries = Object.entries(weights) as [keyof typeof weights, number][]
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of entries) {
        left -= weight
        if (left < 0) return name
      }
      return (entries.at(-1) as (typeof entries)[number])[0]
    },
  }
}

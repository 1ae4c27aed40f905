/** In tenths of a power of ten. So near to each other that the highest bar fills 70 % of the height or more. */
const roundTenths = [10, 12, 15, 16, 20, 25, 30, 40, 50, 60, 80, 100]

/**
 * The top of a scale from 0: the least round number from `most` on whose half is whole, so that the line in the middle
 * has a round figure too. At least 2.
 */
export function roundTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)))
  const tops = roundTenths.map(tenths => Math.round(tenths * power) / 10)
  return tops.find(top => top >= Math.max(2, most) && top % 2 === 0) ?? 10 * power
}

const moves: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowLeft: at => at - 1,
  ArrowDown: at => at - 1,
  ArrowRight: at => at + 1,
  ArrowUp: at => at + 1,
  PageDown: at => at - 7,
  PageUp: at => at + 7,
  Home: () => 0,
  End: (_, last) => last,
}

/** The bar that a key leads to; null for a key that does not move. */
export function barAfter(key: string, at: number, count: number): number | null {
  const move = Object.hasOwn(moves, key) ? moves[key] : undefined
  return move === undefined ? null : Math.min(count - 1, Math.max(0, move(at, count - 1)))
}

/**
 * The bar below a pointer.
 *
 * @param share how far the pointer is from the left, from 0 to 1
 */
export const barAt = (share: number, count: number): number =>
  Math.min(count - 1, Math.max(0, Math.floor(share * count)))

/** Concurrent transactions of one delivery; only part of the pool, so that other requests are still served. */
const atOnce = 6

/** Works through the items, several at a time, begun in their order. */
export async function workAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = Iterator.from(items)
  const one = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}

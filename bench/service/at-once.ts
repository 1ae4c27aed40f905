/**
 * Does the work for each item, so many at a time.
 *
 * @throws what the first that fails throws; the others stop after what they are at
 */
export async function atOnce<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item, at: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let at = next++; at < items.length; at = next++) {
        try {
          await work(items[at] as Item, at)
        } catch (error) {
          next = items.length
          throw error
        }
      }
    }),
  )
}

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

/** Makes so many, so many at a time, and hands them back in the order of their numbers. */
export async function makeAtOnce<Made>(
  count: number,
  lanes: number,
  make: (number: number) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = Array.from({ length: count })
  await atOnce(made, lanes, async (_, number) => {
    made[number] = await make(number)
  })
  return made
}

/**
 * Does the work for each item, with limited concurrency.
 *
 * @throws the error of the first that fails; the others stop after their current item
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

/** Makes that many, with limited concurrency, and returns them in the order of their numbers. */
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

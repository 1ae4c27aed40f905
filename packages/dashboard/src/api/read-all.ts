interface Paged<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

type ReadPage<Item> = (cursor: string | undefined) => Promise<Paged<Item>>

/** The pages of a list, one after the other. */
export async function* pagesOf<Item>(read: ReadPage<Item>): AsyncGenerator<readonly Item[]> {
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor)
    yield page.data
    if (page.next_cursor === null) return
    cursor = page.next_cursor
  }
}

/** All of a list that is short, such as the members of a workspace. */
export async function readAll<Item>(read: ReadPage<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const page of pagesOf(read)) items.push(...page)
  return items
}

import type { AdminRequest, CallOptions } from './request.ts'

/** A page of a list, as the service answers it. */
export interface Page<T> {
  object: 'list'
  data: T[]
  has_more: boolean
  next_cursor: string | null
}

/** A list of the service: all of it with `for await`, page after page as it is read, or one page. */
export interface Listing<T> extends AsyncIterable<T> {
  /** The page that the query names; the next is that with its `next_cursor` as `cursor`. */
  page(): Promise<Page<T>>
}

/** Asks for nothing until it is read. */
export function listOf<T>(
  request: AdminRequest,
  path: string,
  query: { cursor?: string } = {},
  options: CallOptions = {},
): Listing<T> {
  const read = (cursor: string | undefined) =>
    request<Page<T>>({
      method: 'GET',
      path,
      query: { ...query, cursor },
      object: 'list',
      repeat: 'safe',
      options,
    })
  return {
    page: () => read(query.cursor),
    async *[Symbol.asyncIterator]() {
      let { cursor } = query
      do {
        const { data, next_cursor } = await read(cursor)
        yield* data
        // A service that names the same page again would never end.
        if (next_cursor === cursor) return
        cursor = next_cursor ?? undefined
      } while (cursor !== undefined)
    },
  }
}

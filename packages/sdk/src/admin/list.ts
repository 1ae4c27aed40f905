import type { AdminRequest, CallOptions } from './request.ts'

/** One page of a list, as the service returns it. */
export interface Page<T> {
  object: 'list'
  data: T[]
  has_more: boolean
  next_cursor: string | null
}

/** A list of the service. `for await` reads all of it, page by page; `page()` reads one page. */
export interface Listing<T> extends AsyncIterable<T> {
  /** The page that the query names. For the next one, pass `next_cursor` as `cursor`. */
  page(): Promise<Page<T>>
}

/** Sends nothing until it is read. */
export function listOf<T>(
  request: AdminRequest,
  path: string,
  query: { cursor?: string } = {},
  options: CallOptions = {},
): Listing<T> {
  const read = (cursor: string | undefined) =>
    request<Page<T>>({ path, query: { ...query, cursor }, object: 'list', options })
  return {
    page: () => read(query.cursor),
    async *[Symbol.asyncIterator]() {
      let { cursor } = query
      do {
        const { data, next_cursor } = await read(cursor)
        yield* data
        // Without this, a service that names the same page again would be read forever.
        if (next_cursor === cursor) return
        cursor = next_cursor ?? undefined
      } while (cursor !== undefined)
    },
  }
}

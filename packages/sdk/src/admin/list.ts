import type { AdminRequest, CallOptions } from './request.ts'

/** One page of a list. */
export interface Page<T> {
  object: 'list'
  data: T[]
  hasMore: boolean
  nextCursor: string | null
}

/** A list of the service. `for await` reads all of it, page by page; `page()` reads one page. */
export interface Listing<T> extends AsyncIterable<T> {
  /** The page that the query names. For the next one, pass `nextCursor` as `cursor`. */
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
        const { data, nextCursor } = await read(cursor)
        yield* data
        // Without this, a service that names the same page again would be read forever.
        if (nextCursor === cursor) return
        cursor = nextCursor ?? undefined
      } while (cursor !== undefined)
    },
  }
}

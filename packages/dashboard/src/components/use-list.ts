import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query'
import { shownWorkspaceId } from '../session/workspace.ts'

interface Page<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

type ListCall<Item, Query> = (
  input: { query?: { [Name in keyof Query]?: Query[Name] | undefined } },
  options?: { signal?: AbortSignal },
) => Promise<Page<Item>>

export type List<Item> = UseInfiniteQueryResult<InfiniteData<Page<Item>>, Error>

/**
 * A list of the service, a page at a time.
 *
 * @param noun the first part of the query's key, such as `keys`: a change of a key invalidates `['keys']`
 */
export const useList = <Item, Query extends object>(
  noun: string,
  call: ListCall<Item, Query>,
  query: { [Name in keyof Query]?: Query[Name] | undefined },
): List<Item> =>
  useInfiniteQuery({
    queryKey: [noun, 'list', shownWorkspaceId(), query],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const page = { ...query, ...(pageParam !== undefined && { cursor: pageParam }) }
      return call({ query: page as typeof query }, { signal })
    },
    getNextPageParam: page => page.next_cursor ?? undefined,
  })

/** The rows of all loaded pages. */
export const rowsOf = <Item>({ data }: List<Item>): Item[] => data?.pages.flatMap(page => page.data) ?? []

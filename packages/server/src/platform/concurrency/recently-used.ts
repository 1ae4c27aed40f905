import { LRUCache } from 'lru-cache'

/**
 * The values that were used last, at most `most`; a further one drops the one unused for longest. It grows as it fills: with
 * the library's `max`, the caches of a process would take 20 ms and 8 MB of every start, before anything is in them.
 */
export const recentlyUsed = <V extends object>(most: number) =>
  new LRUCache<string, V>({ maxSize: most, sizeCalculation: () => 1 })

import { LRUCache } from 'lru-cache'

/**
 * The values that were used last, at most `most`; a further value replaces the one unused for longest. The map grows as it
 * fills: with the library's `max`, the caches of a process would add 20 ms and 8 MB to every start while empty.
 */
export const recentlyUsed = <V extends object>(most: number) =>
  new LRUCache<string, V>({ maxSize: most, sizeCalculation: () => 1 })

import { LRUCache } from 'lru-cache'
import type { SharedBody } from '../platform/http/shared-body.ts'

/**
 * Bodies of the feed, each made and compressed once and given to all who ask for the same. When a project's
 * defaults change, every node of a fleet takes the whole policy at once; the store then reads each key once.
 * What is kept never goes stale: its name holds the version, and what is newer than that comes with the next delta.
 */
export interface Pages<T extends object> {
  /** Those who ask for a name while it is being made wait for it. One that failed is made anew by the next. */
  share(name: string, make: () => Promise<T>): Promise<T>
}

/** Bytes kept, compressed forms included. Ten pages of 5,000 keys. */
const mostBytes = 32 * 1024 * 1024
/** About: a compressed form has a quarter of the bytes, and there are two. */
const formsFactor = 1.5

export interface Page {
  readonly bytes: number
  /** False for what may be otherwise at the next question, though the version is the same. */
  readonly isLasting: boolean
}

/** A body of the feed; null stands for one that may not be sent, and why is known by whoever made it. */
export interface FeedPage extends Page {
  readonly body: SharedBody | null
}

export function createPages<T extends Page>(): Pages<T> {
  const kept = new LRUCache<string, T>({
    maxSize: mostBytes,
    sizeCalculation: page => Math.ceil(page.bytes * formsFactor) + 1_024,
  })
  const making = new Map<string, Promise<T>>()
  return {
    share(name, make) {
      const page = kept.get(name)
      if (page !== undefined) return Promise.resolve(page)
      const under = making.get(name)
      if (under !== undefined) return under
      const made = make()
        .then(page => {
          if (page.isLasting) kept.set(name, page)
          return page
        })
        .finally(() => making.delete(name))
      making.set(name, made)
      return made
    },
  }
}

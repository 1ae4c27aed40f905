import { LRUCache } from 'lru-cache'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import { within } from '../platform/concurrency/within.ts'
import type { OpenBody } from '../platform/http/body/open-body.ts'
import { Refusal } from '../platform/refusal.ts'

/**
 * Bodies of the feed, each built and compressed once for all requests for it. When the default limits of a project change,
 * every node fetches the whole policy at once; the database then reads each key once. A cached body is never stale: its
 * name contains the version, and the next delta has what is newer.
 */
export interface Pages<T extends object> {
  /**
   * Requests for a name that is being built wait for it. If building fails, the next request tries again.
   * @param make has a separate deadline: that of its caller would end it for all who wait.
   * @throws {Refusal} `unavailable` at the caller's deadline.
   */
  share(name: string, deadline: Deadline, make: () => Promise<T>): Promise<T>
}

/** Bytes cached, compressed forms included: about ten pages of 5,000 keys. */
const mostBytes = 32 * 1024 * 1024
/** An estimate: a compressed form has a quarter of the bytes, and there are two. */
const formsFactor = 1.5

export interface Page {
  readonly bytes: number
  /** False when the content can change at the same version. */
  readonly isLasting: boolean
}

/**
 * A body of the feed up to the time that each answer adds; null when it is too large to send, for a reason that the maker
 * of the body knows.
 */
export interface FeedPage extends Page {
  readonly body: OpenBody | null
}

export function createPages<T extends Page>(): Pages<T> {
  const kept = new LRUCache<string, T>({
    maxSize: mostBytes,
    sizeCalculation: page => Math.ceil(page.bytes * formsFactor) + 1_024,
  })
  const making = new Map<string, Promise<T>>()
  return {
    share(name, deadline, make) {
      const page = kept.get(name)
      if (page !== undefined) return Promise.resolve(page)
      const under = making.get(name)
      if (under !== undefined) return withinDeadline(deadline, under)
      const made = make()
        .then(page => {
          if (page.isLasting) kept.set(name, page)
          return page
        })
        .finally(() => making.delete(name))
      making.set(name, made)
      return withinDeadline(deadline, made)
    },
  }
}

const withinDeadline = <T>(deadline: Deadline, made: Promise<T>): Promise<T> =>
  within(deadline.leftMs(), () => new Refusal('unavailable'), [made])

import { badResponse } from '../runtime/errors.ts'
import type { Snapshot } from './body.ts'

/** A walk of more pages without a key than this is not going anywhere. */
const EMPTY_PAGES_MAX = 64
/**
 * Pages that any walk may have, and one more for every so many keys that the node may hold. Pages of 4 MiB with the
 * largest of keys have 250 of them.
 */
const PAGES_MAX = 2_000
const KEYS_A_PAGE = 100

/**
 * Makes sure that a walk comes to an end: key ids rise from page to page, no cursor comes twice, and pages are
 * counted. A service that repeats itself would keep the node busy, and tell nobody, until its keys are stale.
 */
export class WalkGuard {
  readonly #first: Snapshot
  readonly #pagesMax: number
  readonly #cursors = new Set<string>()
  #pages = 0
  #emptyPages = 0
  #lastId = ''

  /** @param keysMax how many keys the node may hold */
  constructor(first: Snapshot, keysMax: number) {
    this.#first = first
    this.#pagesMax = PAGES_MAX + Math.ceil(keysMax / KEYS_A_PAGE)
  }

  /** @throws KeyrailError `bad_response` at a page that does not go on from those before it */
  check({ version, workspaceId, keys, nextCursor }: Snapshot): void {
    if (version !== this.#first.version) throw badResponse('version, which changed within a walk')
    if (workspaceId !== this.#first.workspaceId)
      throw badResponse('workspace_id, which changed within a walk')
    for (const { keyId } of keys) {
      if (keyId <= this.#lastId) throw badResponse('keys, whose ids do not rise')
      this.#lastId = keyId
    }
    if (nextCursor === null) return
    if (this.#cursors.has(nextCursor)) throw badResponse('next_cursor, which came before')
    this.#cursors.add(nextCursor)
    if (++this.#pages >= this.#pagesMax) throw badResponse(`next_cursor, after ${this.#pages} pages`)
    if (keys.length === 0 && ++this.#emptyPages > EMPTY_PAGES_MAX)
      throw badResponse('keys, page after page without')
  }
}

import { badResponse } from '../runtime/errors.ts'
import type { Snapshot } from './body.ts'

/** A walk with more empty pages than this makes no progress. */
const EMPTY_PAGES_MAX = 64
/**
 * The pages that any walk may have, plus one for every `KEYS_A_PAGE` keys that the node may hold. A page of 4 MiB with the
 * largest keys has 250 of them.
 */
const PAGES_MAX = 2_000
const KEYS_A_PAGE = 100

/**
 * Ensures that a walk ends: key ids rise from page to page, no cursor repeats, and the number of pages is limited. Otherwise
 * a service that repeats itself would keep the node busy, without an error, until its keys are stale.
 */
export class WalkGuard {
  readonly #first: Snapshot
  readonly #pagesMax: number
  readonly #cursors = new Set<string>()
  #pages = 0
  #emptyPages = 0
  #lastId = ''

  /** @param keysMax the most keys that the node may hold */
  constructor(first: Snapshot, keysMax: number) {
    this.#first = first
    this.#pagesMax = PAGES_MAX + Math.ceil(keysMax / KEYS_A_PAGE)
  }

  /** @throws KeyrailError `bad_response` if a page does not continue the ones before it */
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
      throw badResponse('keys, which are empty page after page')
  }
}

import { keepLinkToken } from './link-token.ts'
import { isStorageDenied, tabStorage } from './session/storage.ts'

/**
 * The code of a screen loads when a person opens the screen. It is missing when the service has changed to another release
 * meanwhile, or does not answer. A reload gets the page of the present release, at the same address.
 */

const storageKey = 'keyrail.reloaded'
/** Differs in each build. */
const build = import.meta.url

const missing = new WeakSet<Error>()

// Also while a person only points at a link. Nothing happens then, because the shown page may hold what was typed.
addEventListener('vite:preloadError', ({ payload }) => {
  missing.add(payload)
  // By the message of the browser, the router would reload the page, also where nothing answers.
  payload.message = 'A part of the dashboard could not be loaded.'
})

export const isPartMissing = (error: unknown): boolean => error instanceof Error && missing.has(error)

/** Whether this address would open again. */
export async function isServed(): Promise<boolean> {
  try {
    return (await fetch(location.pathname, { method: 'HEAD', cache: 'no-store' })).ok
  } catch {
    return false
  }
}

export function reload(): void {
  keepLinkToken()
  location.reload()
}

/**
 * Reloads unless this tab has done so from this build: then a reload does not help, and would repeat for ever.
 *
 * @returns whether the page reloads
 */
export function reloadOnce(): boolean {
  const before: string[] = JSON.parse(tabStorage.getItem(storageKey) ?? '[]')
  // A tab that keeps nothing cannot know.
  if (isStorageDenied || before.includes(build)) return false
  tabStorage.setItem(storageKey, JSON.stringify([...before, build]))
  reload()
  return true
}

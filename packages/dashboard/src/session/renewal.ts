import { currentToken, onToken } from './token.ts'

/**
 * A session may end while a page is open: it expires, or the person ends it elsewhere. The page then stays as it is, with
 * what was typed, and asks the person to sign in again. Requests wait for that, then repeat.
 */

let waiting: Promise<void> | null = null
const listeners = new Set<() => void>()

const announce = () => {
  for (const listener of [...listeners]) listener()
}

/** Whether requests wait for the person to sign in again. */
export const isWaiting = (): boolean => waiting !== null

export function onWaiting(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Resolves when the tab has another token than the refused one.
 *
 * @param refused the token with which the service refused a request
 */
export async function endedSession(refused: string): Promise<void> {
  const token = currentToken()
  if (token !== null && token !== refused) return
  if (waiting === null) {
    waiting = new Promise(resolve => {
      const stop = onToken(() => {
        if (currentToken() === null) return
        stop()
        waiting = null
        announce()
        resolve()
      })
    })
    announce()
  }
  await waiting
}

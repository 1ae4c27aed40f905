import { useLayoutEffect, useState } from 'preact/hooks'

let isMade = false

/**
 * Whether dates may be formatted. To make its first formatter of dates takes a browser longer than to draw the rows, so the first rows are
 * painted without their dates.
 */
export function useDates(hasRows: boolean): boolean {
  const [, redraw] = useState({})
  useLayoutEffect(() => {
    if (isMade || !hasRows) return
    const next = () => {
      isMade = true
      redraw({})
    }
    // Safari has no `requestIdleCallback`.
    const whenIdle = globalThis.requestIdleCallback ?? (call => setTimeout(call))
    whenIdle(next, { timeout: 500 })
  }, [hasRows])
  return isMade
}

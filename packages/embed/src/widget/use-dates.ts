import { useLayoutEffect, useState } from 'preact/hooks'

let isMade = false

/**
 * Whether dates may be formatted. The first formatter of a page takes the browser longer than all else until rows are shown, so the
 * first rows are painted without their dates.
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

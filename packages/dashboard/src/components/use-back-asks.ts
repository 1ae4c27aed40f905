import { useBlocker } from '@tanstack/react-router'

/**
 * Asks before the browser's Back and Forward leave a page on which something would be lost. What the page does by itself, such as
 * showing what it has created, goes on.
 */
export function useBackAsks(isLosing: () => boolean, ask: () => void): void {
  useBlocker({
    enableBeforeUnload: false,
    shouldBlockFn({ action }) {
      if (action === 'PUSH' || action === 'REPLACE' || !isLosing()) return false
      ask()
      return true
    },
  })
}

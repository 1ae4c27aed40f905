/** Waits until the time is over or the signal aborts; not at all if it is over already. Never rejects. Keeps the process alive. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    // Node warns of negative times.
    const timer = setTimeout(end, Math.max(0, milliseconds))
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
  })
}

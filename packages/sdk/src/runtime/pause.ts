/** Waits, and no longer than its signal lets it. It never rejects, and keeps the process alive meanwhile. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
  })
}

import process from 'node:process'

/** What is told when the process has nothing left to do. One listener for all, since Node warns of many. */
const waiting = new Set<() => void>()

const tellAll = (): void => {
  for (const work of waiting) work()
}

/**
 * Calls the work when the process would end by itself, and again when what it began is over. A process that is ended,
 * by a signal or by `process.exit`, calls nothing.
 *
 * @returns what keeps it from being called
 */
export function beforeExit(work: () => void): () => void {
  if (waiting.size === 0) process.on('beforeExit', tellAll)
  waiting.add(work)
  return () => {
    waiting.delete(work)
    if (waiting.size === 0) process.off('beforeExit', tellAll)
  }
}

import process from 'node:process'

/** Work to run when the process has nothing left to do. All work shares one listener, because Node warns about many listeners. */
const waiting = new Set<() => void>()

const runAll = (): void => {
  for (const work of waiting) work()
}

/**
 * Calls the work when the process would end by itself, and again when the process has done what the work began. Does not
 * call it when a signal or `process.exit` ends the process.
 *
 * @returns a function that cancels the work
 */
export function beforeExit(work: () => void): () => void {
  if (waiting.size === 0) process.on('beforeExit', runAll)
  waiting.add(work)
  return () => {
    waiting.delete(work)
    if (waiting.size === 0) process.off('beforeExit', runAll)
  }
}

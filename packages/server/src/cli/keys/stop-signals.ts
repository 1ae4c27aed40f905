import { Cancelled } from '../failure.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Does work that stops between two steps at the first signal. The second one ends the process. */
export async function untilSignal<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const end = () => {
    for (const signal of signals) process.off(signal, abort)
  }
  const abort = () => {
    end()
    stop.abort()
  }
  for (const signal of signals) process.on(signal, abort)
  try {
    return await work(stop.signal)
  } finally {
    end()
  }
}

/** Does a step of such work. @throws {Cancelled} with the text, once a signal has come */
export async function unlessStopped<T>(
  signal: AbortSignal,
  text: () => string,
  step: () => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw new Cancelled(text())
  try {
    return await step()
  } catch (error) {
    throw signal.aborted ? new Cancelled(text()) : error
  }
}

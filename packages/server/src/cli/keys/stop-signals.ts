import { Cancelled } from '../failure.ts'

/** A command that can stop between two steps, and go on there. */
export interface Stopping {
  readonly signal: AbortSignal
  /** Gives signals their usual effect again. */
  end(): void
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The first signal asks for an end, the second one ends the process. */
export function stopOnSignals(): Stopping {
  const stop = new AbortController()
  const abort = () => {
    end()
    stop.abort()
  }
  const end = () => {
    for (const signal of signals) process.off(signal, abort)
  }
  for (const signal of signals) process.on(signal, abort)
  return { signal: stop.signal, end }
}

/** Does a step of such a command. @throws {Cancelled} with the text, once a signal has come */
export async function unlessStopped<T>(
  { signal }: Pick<Stopping, 'signal'>,
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

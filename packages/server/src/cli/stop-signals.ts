/**
 * One stop reaches a process several times: npm passes on what the terminal has sent already, and a service
 * manager signals every process of a service. Within this it counts as one.
 */
const sameMs = 300

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof signals)[number]

/** The wish of a person or a service manager that we end. */
export interface StopSignals {
  /** Whether somebody has asked. */
  readonly asked: boolean
  /** The first signal. */
  readonly first: Promise<StopSignal>
  /** The second one: whoever asks again does not want to wait. */
  readonly second: Promise<StopSignal>
  /** Leaves the signals to Node again. */
  release(): void
}

/** Listens from now on, instead of ending at once. */
export function listenForStop(): StopSignals {
  const first = Promise.withResolvers<StopSignal>()
  const second = Promise.withResolvers<StopSignal>()
  let askedAt: number | undefined
  const heard = (signal: StopSignal) => {
    if (askedAt === undefined) first.resolve(signal)
    else if (performance.now() - askedAt > sameMs) second.resolve(signal)
    askedAt ??= performance.now()
  }
  for (const signal of signals) process.on(signal, heard)
  return {
    get asked() {
      return askedAt !== undefined
    },
    first: first.promise,
    second: second.promise,
    release() {
      for (const signal of signals) process.off(signal, heard)
    },
  }
}

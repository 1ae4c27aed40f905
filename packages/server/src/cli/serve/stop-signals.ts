import { closeSync, openSync } from 'node:fs'

/**
 * A process gets the same stop several times: npm repeats what the terminal has already sent, and a service
 * manager signals every process of a service. Signals within this time count as one.
 */
const sameMs = 300

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof signals)[number]

/** Requests by a person or a service manager to stop. */
export interface StopSignals {
  /** Whether a signal has arrived. */
  readonly asked: boolean
  /** The first signal. */
  readonly first: Promise<StopSignal>
  /** The second signal: the sender does not want to wait. */
  readonly second: Promise<StopSignal>
  /** Gives the signals back to Node. */
  release(): void
}

/**
 * Listens from now on, instead of ending at once.
 * @param isReload whether this SIGHUP asks for something else than a stop.
 */
export function listenForStop(isReload: () => boolean = () => false): StopSignals {
  const first = Promise.withResolvers<StopSignal>()
  const second = Promise.withResolvers<StopSignal>()
  let askedAt: number | undefined
  const onSignal = (signal: StopSignal) => {
    if (signal === 'SIGHUP' && askedAt === undefined && isReload()) return
    if (askedAt === undefined) first.resolve(signal)
    else if (performance.now() - askedAt > sameMs) second.resolve(signal)
    askedAt ??= performance.now()
  }
  for (const signal of signals) process.on(signal, onSignal)
  return {
    get asked() {
      return askedAt !== undefined
    },
    first: first.promise,
    second: second.promise,
    release() {
      for (const signal of signals) process.off(signal, onSignal)
    },
  }
}

/** Whether this process belongs to a terminal, whose end is a SIGHUP. Only true before that end. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

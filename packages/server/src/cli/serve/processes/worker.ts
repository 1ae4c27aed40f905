import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import type { ProcessFigures } from '../../../platform/observe/metrics.ts'
import { CommandFailed } from '../../failure.ts'
import type { FromService, Start, ToService } from '../confined-messages.ts'

/** How long a process has to tell its figures; Prometheus gives a scrape 10 s. */
const figuresMs = 5_000

/** What the process that starts the others hears of one. */
interface WorkerEvents {
  /** It has received a stop signal. */
  onSignal(signal: NodeJS.Signals): void
  onFigures(figures: ProcessFigures): void
}

/** One of the processes that share the port. */
export class Worker {
  /** Its place, from 1 on. A process that replaces another has the same. */
  readonly number: number
  /** No other process has it. */
  readonly id: number
  readonly pid: number
  /** The URL, once it listens. @throws {CommandFailed} if it cannot. */
  readonly listening: Promise<string>
  /** How it has ended. */
  readonly ended: Promise<string>
  /** Its end was ordered. */
  isRetired = false
  readonly #process: ClusterWorker
  readonly #events: WorkerEvents
  readonly #scrapes = new Map<number, (figures: ProcessFigures | null) => void>()
  #scraped = 0
  #listensSince: number | null = null
  #failure: string | undefined

  constructor(number: number, start: Omit<Start, 'kind' | 'worker'>, events: WorkerEvents) {
    this.number = number
    this.#events = events
    this.#process = cluster.fork()
    this.id = this.#process.id
    this.pid = this.#process.process.pid ?? 0
    const listening = Promise.withResolvers<string>()
    const ended = Promise.withResolvers<string>()
    this.listening = listening.promise
    this.listening.catch(() => {})
    this.ended = ended.promise
    this.#process.on('message', (message: FromService) => {
      if (message.kind === 'listening') {
        this.#listensSince ??= performance.now()
        listening.resolve(message.url)
      } else this.#hear(message)
    })
    const end = (how: string) => {
      for (const answer of this.#scrapes.values()) answer(null)
      listening.reject(new CommandFailed(this.#failure ?? `A process ended before it could listen: ${how}.`))
      ended.resolve(this.#failure ?? how)
    }
    this.#process.process.once('exit', (code, signal) => end(signal ?? `code ${code}`))
    this.#process.process.once('error', error => end(error.message))
    this.#process.on('error', () => {})
    this.send({ ...start, kind: 'start', worker: number })
  }

  /** How long it has listened, in ms; null: it does not. */
  get servedMs(): number | null {
    return this.#listensSince === null ? null : performance.now() - this.#listensSince
  }

  send(message: ToService): void {
    if (this.#process.isConnected()) this.#process.send(JSON.stringify(message), () => {})
  }

  /** @returns null if it does not answer in time. */
  async figures(isFirst: boolean): Promise<ProcessFigures | null> {
    const id = ++this.#scraped
    const answer = Promise.withResolvers<ProcessFigures | null>()
    const timer = setTimeout(() => answer.resolve(null), figuresMs)
    this.#scrapes.set(id, answer.resolve)
    this.send({ kind: 'figures', id, isFirst })
    return await answer.promise.finally(() => {
      clearTimeout(timer)
      this.#scrapes.delete(id)
    })
  }

  /** Lets its requests end. @param isReplaced another process serves in its place already. */
  async close(isReplaced: boolean): Promise<void> {
    this.isRetired = true
    this.send({ kind: 'close', isReplaced })
    await this.ended
  }

  kill(): void {
    this.isRetired = true
    this.#process.process.kill('SIGKILL')
  }

  #hear(message: FromService): void {
    if (message.kind === 'signal') this.#events.onSignal(message.signal)
    else if (message.kind === 'failed') this.#failure = message.message
    else if (message.kind === 'figures') {
      this.#events.onFigures(message.figures)
      if (message.id !== null) this.#scrapes.get(message.id)?.(message.figures)
    }
  }
}

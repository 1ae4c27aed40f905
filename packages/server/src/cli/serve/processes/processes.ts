/**
 * Several processes that share the port. `processes.ts` starts, replaces and ends them, each of which runs
 * `../confined-main.ts`; `worker.ts` is one of them, `worker-config.ts` its part of the settings, `start-pace.ts` when
 * another replaces it. `served-figures.ts` serves the metrics of all.
 */

import cluster from 'node:cluster'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../../config.ts'
import type { BuildState } from '../../../dashboard/dashboard.ts'
import { type Connection, toPortable } from '../../../platform/db/connection.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { CommandFailed } from '../../failure.ts'
import type { ToService } from '../confined-messages.ts'
import { drain } from '../drain.ts'
import type { ServedFigures } from './served-figures.ts'
import { StartPace } from './start-pace.ts'
import { Worker } from './worker.ts'
import { configOfWorker } from './worker-config.ts'

export interface ProcessesParts {
  readonly config: Config
  readonly connection: Connection
  readonly direct: Connection
  readonly log: Logger
  readonly dashboard: BuildState
  /** A process has received a stop signal. */
  onSignal(signal: NodeJS.Signals): void
  /** Processes end again and again as soon as they start. */
  onBroken(error: Error): void
}

const program = fileURLToPath(new URL('../confined-main.ts', import.meta.url))

/**
 * Starts the processes and waits until all of them listen.
 * @throws {CommandFailed} the failure of the first one that cannot.
 */
export async function startProcesses(parts: ProcessesParts): Promise<Processes> {
  cluster.schedulingPolicy = cluster.SCHED_RR
  // Figures have values that JSON does not.
  cluster.setupPrimary({ exec: program, args: [], serialization: 'advanced' })
  const { host, port } = parts.config
  // A free port must be the same in each process, also in one that is started when no other listens.
  const config = { ...parts.config, port: port === 0 ? await findFreePort(host) : port }
  const processes = new Processes({ ...parts, config })
  await processes.start()
  return processes
}

export class Processes {
  readonly #parts: ProcessesParts
  #config: Config
  /** The processes that live, also those that begin and those that end. */
  readonly #living = new Set<Worker>()
  /** The process in service of each place. */
  readonly #places = new Map<number, Worker>()
  readonly #paces = new Map<number, StartPace>()
  readonly #replacing = new Map<number, Promise<void>>()
  readonly #closing = new AbortController()
  readonly #hurried = Promise.withResolvers<void>()
  #figures: ServedFigures | null = null
  #rolling: Promise<void> | null = null
  /** What a rolling restart was asked for while another went on. */
  #wanted: Config | null = null
  /** The process that a rolling restart starts. Where the one in its place ends by itself, no other is needed. */
  #next: Worker | null = null
  #dashboard: BuildState
  #isDebug = false
  #isLeaving = false
  #url = ''

  constructor(parts: ProcessesParts) {
    this.#parts = parts
    this.#config = parts.config
    this.#dashboard = parts.dashboard
  }

  get url(): string {
    return this.#url
  }

  get metricsUrl(): string | null {
    return this.#figures?.url ?? null
  }

  async start(): Promise<void> {
    const { log } = this.#parts
    const { processes, metricsPort } = this.#config
    process.once('exit', this.#killAll)
    log.info({ processes }, 'starting processes')
    const numbers = Array.from({ length: processes }, (_, i) => i + 1)
    try {
      const begun = numbers.map(number => this.#launch(number))
      const [url = ''] = await Promise.all(begun.map(worker => worker.listening))
      this.#url = url
      if (metricsPort !== null) {
        const { serveFigures } = await import('./served-figures.ts')
        const serving = () => [...this.#places.values()].filter(({ servedMs }) => servedMs !== null)
        this.#figures = await serveFigures(this.#config, metricsPort, log, serving)
      }
    } catch (error) {
      this.#closing.abort()
      this.#killAll()
      await Promise.all([...this.#living].map(({ ended }) => ended))
      throw error
    }
  }

  reportDashboard(state: BuildState): void {
    this.#dashboard = state
    this.#tell({ kind: 'dashboard', state })
  }

  leave(): void {
    this.#isLeaving = true
    this.#tell({ kind: 'leave' })
  }

  toggleDebug(): void {
    this.#isDebug = !this.#isDebug
    this.#tell({ kind: 'toggle debug' })
  }

  noteValueFile(path: string, text: string): void {
    this.#tell({ kind: 'value file', path, text })
  }

  /** Lets running requests of all processes end, and the processes with them. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#figures?.close()
    await Promise.all([...this.#living].map(worker => worker.close(false)))
    process.off('exit', this.#killAll)
  }

  /** Aborts running requests, so that a `close` in progress ends at once. */
  hurry(): void {
    this.#hurried.resolve()
    this.#tell({ kind: 'hurry' })
  }

  /**
   * A rolling restart: for each process another one starts, and once that listens the old one lets its requests end. Where one
   * cannot start, those that serve go on as they are. While one goes on, another is of use only for other settings, and follows it.
   * @param config of the new processes. Port, metrics port and the number of processes stay.
   */
  async roll(config: Config): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { host, port, metricsPort, processes } = this.#config
    const next = { ...config, host, port, metricsPort, processes }
    if (this.#rolling === null) {
      this.#rolling = this.#rollOn(next).finally(() => {
        this.#rolling = null
      })
    } else this.#wanted = isDeepStrictEqual(next, this.#config) ? null : next
    await this.#rolling
  }

  async #rollOn(config: Config): Promise<void> {
    for (let next: Config | null = config; next !== null; next = this.#wanted) {
      this.#wanted = null
      await this.#rollTo(next)
      if (this.#closing.signal.aborted) return
    }
  }

  async #rollTo(config: Config): Promise<void> {
    const { log } = this.#parts
    const before = this.#config
    this.#config = config
    log.info('rolling restart')
    for (let number = 1; number <= config.processes; number += 1) {
      await this.#replacing.get(number)
      if (this.#closing.signal.aborted) return
      const old = this.#places.get(number)
      const next = this.#launch(number)
      this.#next = next
      const failure = await next.listening.then(() => null).catch((error: Error) => error)
      this.#next = null
      if (this.#closing.signal.aborted) return
      if (failure !== null) {
        if (number === 1) this.#config = before
        log.error({ err: failure, worker: number }, 'rolling restart ended: a process could not start')
        if (!this.#places.has(number)) this.#beginReplacing(number, null, failure.message)
        return
      }
      if (old !== undefined) await this.#retire(old)
    }
    log.info('rolling restart done')
  }

  /** Lets the requests of a process end that another has replaced. */
  async #retire(worker: Worker): Promise<void> {
    const service = {
      leave() {},
      close: () => worker.close(true),
      hurry: () => worker.send({ kind: 'hurry' }),
    }
    await drain(service, this.#hurried.promise)
    worker.kill()
    await worker.ended
  }

  /** It takes its place when it listens. */
  #launch(number: number): Worker {
    const { connection, direct, onSignal } = this.#parts
    const start = {
      config: configOfWorker(this.#config),
      connection: toPortable(connection),
      direct: toPortable(direct),
      dashboard: this.#dashboard,
    }
    const worker: Worker = new Worker(number, start, {
      onSignal,
      onFigures: figures => this.#figures?.note(worker, figures),
    })
    this.#living.add(worker)
    if (this.#isDebug) worker.send({ kind: 'toggle debug' })
    if (this.#isLeaving) worker.send({ kind: 'leave' })
    worker.listening.then(() => this.#places.set(number, worker)).catch(() => {})
    worker.ended.then(how => this.#onEnd(worker, how))
    return worker
  }

  #onEnd(worker: Worker, how: string): void {
    const { number, pid, servedMs, isRetired } = worker
    this.#living.delete(worker)
    void this.#figures?.end(worker)
    const wasInPlace = this.#places.get(number) === worker
    if (wasInPlace) this.#places.delete(number)
    if (isRetired || this.#closing.signal.aborted || !wasInPlace) return
    this.#parts.log.error({ worker: number, worker_pid: pid, ended: how }, 'a process ended and is replaced')
    this.#figures?.own.processReplaced()
    if (this.#next?.number !== number) this.#beginReplacing(number, servedMs, how)
  }

  #beginReplacing(number: number, servedMs: number | null, how: string): void {
    const replacing = this.#replace(number, servedMs, how).finally(() => this.#replacing.delete(number))
    this.#replacing.set(number, replacing)
  }

  async #replace(number: number, servedMs: number | null, how: string): Promise<void> {
    const { log, onBroken } = this.#parts
    const pace = this.#paces.get(number) ?? new StartPace()
    this.#paces.set(number, pace)
    let failure = `A process ended again and again: ${how}.`
    for (let waitMs = pace.ended(servedMs); ; waitMs = pace.ended(null)) {
      if (waitMs === null) return onBroken(new CommandFailed(failure))
      await sleep(waitMs, undefined, { signal: this.#closing.signal }).catch(() => {})
      if (this.#closing.signal.aborted) return
      const worker = this.#launch(number)
      try {
        await worker.listening
        return
      } catch (error) {
        if (this.#closing.signal.aborted) return
        failure = (error as Error).message
        log.error({ err: error, worker: number }, 'a process could not start')
      }
    }
  }

  #tell(message: ToService): void {
    for (const worker of this.#living) worker.send(message)
  }

  /** They end with this process, whatever happens. */
  readonly #killAll = (): void => {
    for (const worker of this.#living) worker.kill()
  }
}

async function findFreePort(host: string): Promise<number> {
  const server = createServer()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, host, resolve)
  await promise
  const at = server.address()
  await new Promise(done => server.close(done))
  return typeof at === 'object' && at !== null ? at.port : 0
}

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Api, openApi, Unanswered } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

/** What SIGKILL ends: one of the two processes, every connection of both, or Postgres itself. */
export const victims = ['service', 'backends', 'postmaster'] as const
export type Victim = (typeof victims)[number]

/** Two processes of the service on one store, with a clock that the drill moves. */
export interface IdempotencyStage {
  readonly serverVersion: string
  /** One for each process. */
  readonly ask: readonly AskIdempotency[]
  query(text: string, values: unknown[]): Promise<Record<string, unknown>[]>
  now(): number
  advance(milliseconds: number): Promise<void>
  /** Waits until the store is idle: a request without an answer has happened by then, or never will. */
  quiet(): Promise<void>
  kill(victim: Victim): Promise<void>
  /** Restarts what was killed; calls made meanwhile must have ended. */
  mend(): Promise<void>
}

/** @returns status and body of `POST /v1/idempotency/<name>`; without a complete answer, those of a 503. */
export type AskIdempotency = (
  name: string,
  body: object,
) => Promise<{ status: number; body: Record<string, unknown>; ms: number }>

interface Process {
  service: DrilledService
  api: Api
}

/** Looks at a busy store, 50 ms apart, before the drill gives up. */
const looksMost = 2_400
const busy = `select count(*) as busy from pg_stat_activity
  where application_name like 'keyrail %' and state <> 'idle' and query like '%idempotency%'`

export async function onIdempotencyStage<T>(work: (stage: IdempotencyStage) => Promise<T>): Promise<T> {
  const cluster = await startDrillCluster({ durable: true })
  const house = new House(cluster)
  try {
    return await work(await house.open())
  } finally {
    await house.close()
    await cluster.remove()
  }
}

class House {
  readonly #cluster: ScratchCluster
  readonly #processes: Process[] = []
  #client: pg.Client | undefined
  #now = Date.now()
  #token = ''
  #killed: { victim: Victim; at: number } | null = null

  constructor(cluster: ScratchCluster) {
    this.#cluster = cluster
  }

  async open(): Promise<IdempotencyStage> {
    this.#client = await connectDirectly(this.#cluster)
    // A table, because a new function at every step would make every session plan its statements again.
    await this.#query(`
      create table drill_time (at timestamptz(3) not null);
      grant select on drill_time to keyrail_app;
      create or replace function service_now() returns timestamptz language sql stable as 'select at from public.drill_time'`)
    await this.#query('insert into drill_time values ($1)', [new Date(this.#now)])
    for (let at = 0; at < 2; at++) this.#processes.push(await this.#start())
    const [first] = this.#processes
    this.#token = (await makeDrillScene(first?.api as Api)).live
    return {
      serverVersion: this.#cluster.serverVersion,
      ask: [0, 1].map(at => (name, body) => this.#ask(at, name, body)),
      query: (text, values) => this.#query(text, values),
      now: () => this.#now,
      advance: async milliseconds => {
        this.#now += milliseconds
        await this.#query('update drill_time set at = $1', [new Date(this.#now)])
      },
      quiet: () => this.#quiet(),
      kill: victim => this.#kill(victim),
      mend: () => this.#mend(),
    }
  }

  async close(): Promise<void> {
    for (const { api, service } of this.#processes) {
      api.close()
      await service.kill()
    }
    await this.#client?.end()
  }

  async #start(): Promise<Process> {
    const service = await startDrilledService(this.#cluster.connection)
    return { service, api: openApi(service.url) }
  }

  async #query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return (await (this.#client as pg.Client).query(text, values)).rows
  }

  async #ask(at: number, name: string, body: object) {
    const { api } = this.#processes[at] as Process
    try {
      return await api.ask('POST', `/v1/idempotency/${name}`, { token: this.#token, body })
    } catch (error) {
      if (!(error instanceof Unanswered) || this.#killed === null) throw error
      return { status: 503, body: {}, ms: 0 }
    }
  }

  async #quiet(): Promise<void> {
    for (let idle = 0, looks = 0; idle < 3; looks += 1) {
      if (looks > looksMost) throw new Error('the store is still busy')
      const [row] = await this.#query(busy)
      idle = row?.busy === 0 ? idle + 1 : 0
      await sleep(50)
    }
  }

  async #kill(victim: Victim): Promise<void> {
    const at = this.#now % 2
    this.#killed = { victim, at }
    if (victim === 'service') await this.#processes[at]?.service.kill()
    else if (victim === 'postmaster') process.kill(this.#cluster.pid, 'SIGKILL')
    else
      await this.#query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'keyrail %'`,
      )
  }

  async #mend(): Promise<void> {
    if (this.#killed === null) return
    const { victim, at } = this.#killed
    this.#killed = null
    if (victim === 'service') {
      this.#processes[at]?.api.close()
      this.#processes[at] = await this.#start()
    } else if (victim === 'postmaster') {
      await this.#cluster.restart()
      this.#client = await connectDirectly(this.#cluster)
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { makeScene } from '../../packages/server/test/mutations.ts'
import { type Api, openApi, plainly, Unanswered } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { bootstrapToken, type DrilledService, startDrilledService } from './service.ts'

/** Who is killed, by SIGKILL: one of the two processes, every connection of both, or Postgres itself. */
export const victims = ['service', 'backends', 'postmaster'] as const
export type Victim = (typeof victims)[number]

/** Two processes of the service on one store, whose time is ours. */
export interface IdempotencyStage {
  readonly serverVersion: string
  /** One an each process. */
  readonly ask: readonly AskIdempotency[]
  query(text: string, values: unknown[]): Promise<Record<string, unknown>[]>
  now(): number
  advance(milliseconds: number): Promise<void>
  /** Waits until the store works on nothing any more: what was not answered has happened by then, or never will. */
  quiet(): Promise<void>
  kill(victim: Victim): Promise<void>
  /** Starts what was killed; what was called meanwhile must have ended. */
  mend(): Promise<void>
}

/** @returns status and body of `POST /v1/idempotency/<name>`; where no whole answer came, as if it had been a 503. */
export type AskIdempotency = (
  name: string,
  body: object,
) => Promise<{ status: number; body: Record<string, unknown>; ms: number }>

interface Process {
  service: DrilledService
  api: Api
}

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
    // A table, because a new function at every step would make every session plan its statements anew.
    await this.#query(`
      create table drill_time (at timestamptz(3) not null);
      grant select on drill_time to keyrail_app;
      create or replace function service_now() returns timestamptz language sql stable as 'select at from drill_time'`)
    await this.#query('insert into drill_time values ($1)', [new Date(this.#now)])
    for (let at = 0; at < 2; at++) this.#processes.push(await this.#start())
    const [first] = this.#processes
    this.#token = (await makeScene(plainly(first?.api as Api), bootstrapToken)).live
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
    for (let looks = 0; looks < 3; ) {
      const [row] = await this.#query(busy)
      looks = row?.busy === 0 ? looks + 1 : 0
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

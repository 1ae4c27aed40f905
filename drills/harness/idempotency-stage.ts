import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { makeScene } from '../../packages/server/test/mutations.ts'
import { type Api, openApi, plainly } from './api.ts'
import { connectDirectly, startDrillCluster } from './cluster.ts'
import { bootstrapToken, startDrilledService } from './service.ts'

/** Two processes of the service on one store, whose time is ours. */
export interface IdempotencyStage {
  readonly serverVersion: string
  readonly client: pg.Client
  /** One an each process. */
  readonly ask: readonly AskIdempotency[]
  now(): number
  advance(milliseconds: number): Promise<void>
  /** Waits until the store works on nothing any more: what was answered 503 has happened by then, or never will. */
  quiet(): Promise<void>
}

const busy = `select count(*) as busy from pg_stat_activity
  where application_name like 'keyrail %' and state <> 'idle' and query like '%idempotency%'`

/** @returns status and body of `POST /v1/idempotency/<name>`. */
export type AskIdempotency = (
  name: string,
  body: object,
) => Promise<{ status: number; body: Record<string, unknown>; ms: number }>

export async function onIdempotencyStage<T>(work: (stage: IdempotencyStage) => Promise<T>): Promise<T> {
  const cluster = await startDrillCluster({ durable: false })
  const client = await connectDirectly(cluster)
  const services = []
  const apis: Api[] = []
  try {
    let now = Date.now()
    // A table, because a new function at every step would make every session plan its statements anew.
    await client.query(`
      create table drill_time (at timestamptz(3) not null);
      grant select on drill_time to keyrail_app;
      create or replace function service_now() returns timestamptz language sql stable as 'select at from drill_time'`)
    await client.query('insert into drill_time values ($1)', [new Date(now)])
    for (let i = 0; i < 2; i++) {
      const service = await startDrilledService(cluster.connection)
      services.push(service)
      apis.push(openApi(service.url))
    }
    const scene = await makeScene(plainly(apis[0] as Api), bootstrapToken)
    return await work({
      serverVersion: cluster.serverVersion,
      client,
      ask: apis.map(
        ({ ask }) =>
          (name, body) =>
            ask('POST', `/v1/idempotency/${name}`, { token: scene.live, body }),
      ),
      now: () => now,
      async advance(milliseconds) {
        now += milliseconds
        await client.query('update drill_time set at = $1', [new Date(now)])
      },
      async quiet() {
        for (let looks = 0; looks < 3; ) {
          const { rows } = await client.query(busy)
          looks = rows[0].busy === 0 ? looks + 1 : 0
          await sleep(100)
        }
      },
    })
  } finally {
    for (const api of apis) api.close()
    for (const service of services) await service.kill()
    await client.end()
    await cluster.remove()
  }
}

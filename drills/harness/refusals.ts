import type pg from 'pg'
import { routes } from '../../packages/server/src/routes.ts'
import { type MutationRequest, mutationsOf } from '../../packages/server/test/mutations.ts'
import { plainly } from './api.ts'
import { connectDirectly } from './cluster.ts'
import { differences, dumpDatabase } from './dump.ts'
import { until } from './pauses.ts'
import { bootstrapToken } from './service.ts'
import type { Stage } from './stage.ts'

/** An obstacle that keeps the audit log from being written, and how it is removed. */
export interface Obstacle {
  /** Whether it also affects a new chain. */
  meetsNewChain: boolean
  raise(stage: Stage): Promise<() => Promise<void>>
}

const bySql =
  (raise: string, mend: string) =>
  async ({ client }: Stage) => {
    await client.query(raise)
    return async () => void (await client.query(mend))
  }

export const obstacles: Record<string, Obstacle> = {
  'insert raises': {
    meetsNewChain: true,
    raise: bySql(
      `create or replace function drill_refuse() returns trigger language plpgsql as
         $$ begin raise exception 'the audit log cannot be written'; end $$;
       create trigger drill_refuse before insert on audit_logs for each row execute function drill_refuse()`,
      'drop trigger drill_refuse on audit_logs',
    ),
  },
  'no right to insert': {
    meetsNewChain: true,
    raise: bySql('revoke insert on audit_logs from keyrail_app', 'grant insert on audit_logs to keyrail_app'),
  },
  'head gone': {
    meetsNewChain: false,
    raise: bySql(
      'create table drill_heads as table audit_heads; delete from audit_heads',
      'insert into audit_heads select * from drill_heads; drop table drill_heads',
    ),
  },
  'head locked': {
    meetsNewChain: false,
    async raise({ cluster }) {
      const holder = await connectDirectly(cluster)
      await holder.query('begin')
      await holder.query('select from audit_heads for update')
      return () => holder.end()
    },
  },
}

export interface Refused {
  operation: string
  /** By obstacle: the status, or null where it does not affect this route. */
  statuses: Map<string, number | null>
  /** The answer to the same request when the log could be written again. */
  afterwards: number
}

/**
 * Sends every mutating route's request while the audit log cannot be written, and compares dumps of the whole database
 * from before and after. Then sends it once more, which must succeed: so the log was the reason for the refusal.
 */
export async function refuseAll(
  stage: Stage,
  names: readonly string[],
  say: (line: string) => void,
): Promise<{ refused: Refused[]; broken: string[] }> {
  const { api, client, scene } = stage
  const broken: string[] = []
  const refused: Refused[] = []
  await holdStoreTime(stage)
  for (const { route, prepare } of mutationsOf(routes)) {
    const request = await prepare({
      ask: plainly(api),
      query: async (text, values) => (await client.query(text, values)).rows,
      bootstrapToken,
      scene,
    })
    // Mail that the preparation has queued is sent in the background, which writes rows.
    await until('the queue of mail to be empty', async () => (await jobs(client)) === 0)
    const statuses = new Map<string, number | null>()
    for (const name of names) {
      const { meetsNewChain, raise } = obstacles[name] as Obstacle
      if (route.operation === 'createWorkspace' && !meetsNewChain) {
        statuses.set(name, null)
        continue
      }
      const mend = await raise(stage)
      try {
        const before = await dumpDatabase(client)
        // A socket that hangs is no refusal.
        const { status } = await send(stage, route, request).catch(() => ({ status: 0 }))
        statuses.set(name, status)
        if (status < 500) broken.push(`${route.operation}, ${name}: answered ${status}`)
        const changed = differences(before, await dumpDatabase(client))
        broken.push(...changed.map(line => `${route.operation}, ${name}: ${line}`))
      } finally {
        await mend()
      }
    }
    const before = await dumpDatabase(client)
    const { status, headers } = await send(stage, route, request)
    if (status !== route.answer.status) broken.push(`${route.operation}, log intact: answered ${status}`)
    if (headers['idempotent-replayed'] !== undefined)
      broken.push(`${route.operation}: a refused attempt is replayed`)
    if (differences(before, await dumpDatabase(client)).length === 0)
      broken.push(`${route.operation}, log intact: changed nothing`)
    refused.push({ operation: route.operation, statuses, afterwards: status })
    say(`${route.operation}: ${[...statuses.values()].join(' ')}`)
  }
  return { refused, broken }
}

const send = (
  { api }: Stage,
  { method, operation }: { method: string; operation: string },
  request: MutationRequest,
) =>
  api.ask(method, request.url, {
    token: request.token,
    headers: { 'idempotency-key': `drill ${operation}` },
    ...(request.body !== undefined && { body: request.body }),
  })

/**
 * A credential's last_used_at is written in the background, at most once a minute by the store's clock. With the clock
 * stopped after the first use there is no second write, and only mutations change a dump. The mail worker's task name
 * is written once too.
 */
async function holdStoreTime({ api, client, scene }: Stage): Promise<void> {
  await client.query(`create or replace function service_now() returns timestamptz language sql stable
    as $$ select timestamptz '${new Date().toISOString()}' $$`)
  await api.ask('GET', '/v1/workspace', { token: scene.live })
  await until('the note of its use', async () => (await unusedKeys(client)) === 0)
  await until('the mail worker', async () => {
    const { rows } = await client.query('select from graphile_worker._private_tasks')
    return rows.length > 0
  })
}

async function jobs(client: pg.Client): Promise<number> {
  const { rows } = await client.query('select count(*)::int as n from graphile_worker.jobs')
  return rows[0].n
}

async function unusedKeys(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as n from secret_keys
     where last_used_at is null and role = 'owner' and created_by_type = 'bootstrap'`,
  )
  return rows[0].n
}

import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { processesIn, sendSignal } from '../../packages/server/src/platform/db/embedded/processes.ts'
import { connectDirectly } from './cluster.ts'
import { makeSent, sendMutation } from './load.ts'
import type { OutageStage } from './outage-stage.ts'
import { until } from './pauses.ts'

/** A way in which the store fails the service, and how it comes back. */
export interface Outage {
  /**
   * `store gone`: the store answers nothing, so every request that needs it is 503 and readiness is red. `store
   * hampered`: some requests may succeed. `store well`: all must.
   */
  extent: 'store gone' | 'store hampered' | 'store well'
  needsSmallDisk?: boolean
  /** Begins it; the returned function ends it, and resolves when the store is back. */
  begin(stage: OutageStage): Promise<() => Promise<void>>
}

const hourMs = 3_600_000

const clockStepped = (offsetMs: number): Outage => ({
  extent: 'store well',
  async begin({ service }) {
    await service.setClock(offsetMs)
    return () => service.setClock(0)
  },
})

const slowedDown = (extent: Outage['extent'], milliseconds: number): Outage => ({
  extent,
  async begin({ relay }) {
    relay.delay(milliseconds)
    return async () => relay.delay(0)
  },
})

export const outages: Record<string, Outage> = {
  'Postgres stopped': {
    extent: 'store gone',
    async begin({ cluster }) {
      await cluster.stop()
      return () => cluster.restart()
    },
  },
  'Postgres killed': {
    extent: 'store gone',
    async begin({ cluster }) {
      process.kill(cluster.pid, 'SIGKILL')
      return () => cluster.restart()
    },
  },
  'Postgres frozen': {
    extent: 'store gone',
    begin: async stage => freeze(stage),
  },
  // A deletion may correctly work for a minute, so its deadline is not what ends the wait.
  'Postgres frozen amid deletions': {
    extent: 'store gone',
    async begin(stage) {
      const letGo = await beginDeletions(stage)
      const thaw = freeze(stage)
      return async () => {
        await thaw()
        await letGo()
      }
    },
  },
  'network silent': {
    extent: 'store gone',
    async begin({ relay }) {
      relay.delay(null)
      return async () => {
        relay.delay(0)
        relay.cut()
      }
    },
  },
  '2,400 ms a round trip': slowedDown('store gone', 1_200),
  '300 ms a round trip': slowedDown('store hampered', 150),
  'connections cut, again and again': {
    extent: 'store hampered',
    async begin({ relay }) {
      const timer = setInterval(() => relay.cut(), 40)
      return async () => clearInterval(timer)
    },
  },
  'connections all taken': {
    extent: 'store gone',
    async begin(stage) {
      const taken = await takeAllConnections(stage)
      return async () => void (await Promise.all(taken.map(client => client.end())))
    },
  },
  'every chain locked, pool exhausted': {
    extent: 'store hampered',
    async begin({ cluster }) {
      const holder = await connectDirectly(cluster)
      await holder.query('begin')
      await holder.query('lock table audit_heads in access exclusive mode')
      return () => holder.end()
    },
  },
  'disk full': {
    extent: 'store hampered',
    needsSmallDisk: true,
    async begin({ disk, cluster }) {
      disk?.fill()
      return async () => {
        disk?.clear()
        // Without space for its log Postgres ends itself, and an operator has to start it.
        if (!processesIn(cluster.dataDirectory).some(({ pid }) => pid === cluster.pid))
          await cluster.restart()
      }
    },
  },
  'clock an hour ahead': clockStepped(hourMs),
  'clock an hour behind': clockStepped(-hourMs),
}

function freeze({ cluster }: OutageStage): () => Promise<void> {
  // The postmaster first, so that it starts no more of them.
  const frozen = processesIn(cluster.dataDirectory).toSorted(one => (one.pid === cluster.pid ? -1 : 1))
  for (const one of frozen) sendSignal(one, 'SIGSTOP')
  return async () => {
    for (const one of frozen) sendSignal(one, 'SIGCONT')
  }
}

const deletions = 4

/** Deletes tenants, a workspace each, and stops the deletions after their work, before the commit. */
async function beginDeletions({ cluster, api, scenes, aside }: OutageStage): Promise<() => Promise<void>> {
  const holder = await connectDirectly(cluster)
  await holder.query('begin')
  for (const { workspaceId, live } of scenes.slice(0, deletions)) {
    // A tenant that no other client uses: whether it is gone in the end depends on the store.
    const body = { external_id: randomUUID() }
    const made = await api.ask('POST', '/v1/tenants', { token: live, body })
    const tenantId: string = made.body.id
    await holder.query('select from audit_heads where workspace_id = $1 for update', [workspaceId])
    const sent = makeSent(
      {
        call: ['DELETE', `/v1/tenants/${tenantId}`],
        shows: { action: 'tenant.deleted', by: 'target', value: tenantId },
        replayable: false,
        workspaceId,
        token: live,
        remember: () => {},
      },
      null,
    )
    aside.push(sendMutation(api, sent).then(() => sent))
  }
  const watcher = await connectDirectly(cluster)
  await until('the deletions’ wait for the chain', async () => {
    const { rows } = await watcher.query(
      `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%audit_append%'`,
    )
    return rows[0].n >= deletions
  })
  await watcher.end()
  return () => holder.end()
}

/** Takes every connection that Postgres has to give, those of the service included. */
async function takeAllConnections({ cluster }: OutageStage): Promise<pg.Client[]> {
  const taken: pg.Client[] = []
  const next = async () => {
    const client = await connectDirectly(cluster).catch(() => null)
    if (client !== null) taken.push(client)
    return client !== null
  }
  await next()
  const [first] = taken
  const ask = async (text: string) => (await first?.query(text))?.rows[0]
  const { most } = await ask(`select current_setting('max_connections')::int as most`)
  await until('the service’s last connection', async () => {
    await ask(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'keyrail %'`,
    )
    while (await next());
    return taken.length === most
  })
  return taken
}

import { codehostKeysFile, reportPath, signedReport } from '../../packages/server/test/codehost.ts'
import { makePerson } from '../../packages/server/test/people.ts'
import type { Scene } from '../../packages/server/test/vendor.ts'
import { faultsOf } from '../../packages/server/test/whole.ts'
import { type Api, openApi, Unanswered } from './api.ts'
import { connectDirectly, startDrillCluster } from './cluster.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

/** A credential that is about to leak. */
export interface Leaking {
  token: string
  /** The table of its record. */
  table: 'api_keys' | 'secret_keys' | 'sessions'
  id: string
}

export interface LeakStage {
  readonly serverVersion: string
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Locks a row on a separate connection, until the returned function is called. */
  hold(text: string, values: unknown[]): Promise<() => Promise<void>>
  /** New credentials of every kind, spread over the workspaces. */
  makeLeaks(count: number): Promise<Leaking[]>
  /** Reports them, signed. @returns the status, or null when no answer came. */
  deliver(leaks: readonly Leaking[]): Promise<{ status: number | null; body: unknown }>
  killService(): Promise<void>
  startService(): Promise<void>
  /** The inconsistencies in any of the workspaces. */
  faults(): Promise<string[]>
}

const workspaces = 3

export async function onLeakStage<T>(work: (stage: LeakStage) => Promise<T>): Promise<T> {
  const cluster = await startDrillCluster({ durable: true })
  let service: DrilledService | null = null
  let api: Api | null = null
  const client = await connectDirectly(cluster)
  const query = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows
  const startService = async () => {
    const env = { SERVICE_CODEHOST_KEYS_FILE: codehostKeysFile }
    service = await startDrilledService(cluster.connection, { env })
    api = openApi(service.url)
  }
  const running = (): Api => {
    if (api === null) throw new Error('the service has not been started')
    return api
  }
  const killService = async () => {
    api?.close()
    await service?.kill()
  }
  try {
    await startService()
    const scenes: Scene[] = []
    for (let n = 0; n < workspaces; n++) scenes.push(await makeDrillScene(running()))
    const make = async (n: number): Promise<Leaking> => {
      const scene = scenes[n % scenes.length] as Scene
      const kind = Math.floor(n / scenes.length) % 3
      if (kind === 2) {
        const { token, sessionId } = await makePerson(query, {
          workspaceId: scene.workspaceId,
          role: 'owner',
        })
        return { token, table: 'sessions', id: sessionId }
      }
      const { live, projectId, tenantId } = scene
      const key = { project_id: projectId, tenant_id: tenantId, env: 'live' }
      const [path, body, table] =
        kind === 0
          ? (['/v1/keys', key, 'api_keys'] as const)
          : (['/v1/secret_keys', { env: 'test' }, 'secret_keys'] as const)
      const answer = await running().ask('POST', path, { token: live, body })
      if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}`)
      return { token: answer.body.key, table, id: answer.body.id }
    }
    const [{ server_version } = {}] = await query('show server_version')
    return await work({
      serverVersion: String(server_version),
      query,
      async hold(text, values) {
        const holder = await connectDirectly(cluster)
        await holder.query('begin')
        await holder.query(text, values)
        return () => holder.end()
      },
      async makeLeaks(count) {
        const leaks: Leaking[] = []
        for (let n = 0; n < count; n++) leaks.push(await make(n))
        return leaks
      },
      async deliver(leaks) {
        const body = leaks.map(({ token }) => ({
          token,
          type: 'drill',
          url: 'https://x.example',
          source: 'commit',
        }))
        try {
          return await running().ask('POST', reportPath, { body, headers: signedReport(body).headers })
        } catch (error) {
          if (error instanceof Unanswered) return { status: null, body: null }
          throw error
        }
      },
      killService,
      startService,
      async faults() {
        const found: string[] = []
        for (const { workspaceId } of scenes) found.push(...(await faultsOf(query, workspaceId)))
        return found
      },
    })
  } finally {
    await killService()
    await client.end()
    await cluster.remove()
  }
}

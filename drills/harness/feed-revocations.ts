import { type Answer, type Api, openApi } from './api.ts'
import { type Fleet, type FleetNode, type Outage, openFleet } from './feed-fleet.ts'
import { type FleetWatch, watchFleet } from './feed-fleet-watch.ts'
import { until } from './pauses.ts'
import { type DrilledService, startDrilledService } from './service.ts'
import { onStage, type Stage } from './stage.ts'

/** Long enough for a fleet that can answer, short enough to wait for one that cannot. */
const revokeWaitMs = 2_000
const env = { SERVICE_REVOKE_WAIT_MS: String(revokeWaitMs) }

/** How often a request is repeated after a 503. */
const triesMost = 10

export interface RevocationOptions {
  cycles: number
  /** How long after the service's answer a revoked key may still be accepted, beyond the interval for polling nodes. */
  slackMs: number
  signal?: AbortSignal
  say?: (line: string) => void
}

/** Figures by situation: milliseconds, one a node and cycle. */
type Figures = Map<string, number[]>

const situations = {
  polled: 'revoked, polled every 200 ms: refused after',
  held: 'revoked, answers held: refused after',
  awaited: 'revoked with wait=true: refused after the answer',
  cut: 'revoked while cut off: refused after the way is back',
  killed: 'service killed, 1,500 ms to live: oldest that passed',
  outlived: 'service killed, 20,000 ms to live: oldest that passed',
} as const

/** @returns the figures, and what contradicts the promise. */
export async function runRevocations(options: RevocationOptions) {
  const { cycles, signal, say = () => {} } = options
  return onStage(async stage => {
    const run = {
      stage,
      service: stage.service,
      api: stage.api,
      figures: new Map() as Figures,
      broken: [] as string[],
    }
    let verified = 0
    let stale = 0
    let ended = 0
    try {
      await restart(run)
      for (; ended < cycles && !signal?.aborted; ended += 1) {
        const fleet = await openFleet(stage, () => run.service.url)
        const watch = watchFleet(fleet)
        try {
          await runCycle(run, fleet, watch, options, ended % 2 === 0 ? 'silent' : 'refused')
        } finally {
          watch.stop()
          await fleet.close()
          run.broken.push(...watch.broken)
          verified += watch.verified
          stale += watch.stale
        }
        say(`${ended + 1} of ${cycles}, ${run.broken.length} broken`)
      }
    } finally {
      run.api.close()
      await run.service.kill()
    }
    const { figures, broken } = run
    return { figures, broken, verified, stale, ended, serverVersion: stage.cluster.serverVersion }
  })
}

interface Run {
  stage: Stage
  service: DrilledService
  api: Api
  figures: Figures
  broken: string[]
}

/** The same database, another process, another port. */
async function restart(run: Run): Promise<void> {
  await run.service.kill()
  run.api.close()
  run.service = await startDrilledService(run.stage.cluster.connection, { env })
  run.api = openApi(run.service.url)
}

async function runCycle(
  run: Run,
  fleet: Fleet,
  watch: FleetWatch,
  options: RevocationOptions,
  outage: Outage,
): Promise<void> {
  const { nodes, cutNodes } = fleet
  const [sound, first, second, third] = await Promise.all([issue(run), issue(run), issue(run), issue(run)])
  const keys = [sound, first, second, third]
  await all(nodes, 'know the keys', ({ keyring }) => keys.every(({ key }) => keyring.verify(key).valid))
  watch.sound(sound.key)

  // Up.
  const { slackMs } = options
  await revoke(run, watch, 'first', first)
  await all(nodes, 'refuse the first key', node => watch.refusedAfterMs(node, 'first') !== undefined)
  for (const node of nodes) {
    const ms = watch.refusedAfterMs(node, 'first') ?? 0
    note(run, situations[node.kind], ms)
    const most = slackMs + (node.kind === 'polled' ? node.pollIntervalMs : 0)
    if (ms > most) run.broken.push(`${node.name}: accepted a revoked key for ${Math.round(ms)} ms`)
  }

  // Up, and the caller gets its answer when the whole fleet has the revocation.
  const { acknowledged, nodes: counted } = await revoke(run, watch, 'second', second, '?wait=true')
  if (counted < nodes.length) run.broken.push(`${counted} of ${nodes.length} nodes were waited for`)
  for (const node of nodes) {
    const ms = watch.refusedAfterMs(node, 'second')
    if (acknowledged && ms === undefined)
      run.broken.push(`${node.name}: accepted a key that the fleet was reported to refuse`)
    if (acknowledged) note(run, situations.awaited, Math.max(0, ms ?? 0))
  }

  // A part of the fleet is cut off, and a key revoked.
  fleet.cutOff(outage)
  const answer = await revoke(run, watch, 'third', third, '?wait=true')
  const missing = cutNodes.filter(({ name }) => !answer.pending.includes(name))
  if (answer.acknowledged || missing.length > 0)
    run.broken.push(`${missing.length} nodes that are cut off were reported as up to date`)

  // Down.
  await run.service.kill()
  await all(
    nodes,
    'that live briefly are stale',
    ({ kind, keyring }) => kind === 'held' || keyring.verify(sound.key).code === 'stale',
  )
  for (const node of nodes)
    note(run, situations[node.kind === 'polled' ? 'killed' : 'outlived'], watch.oldestServedMs(node))

  // Back: first the service, then the connection to it.
  await restart(run)
  const restartedAt = performance.now()
  await all(
    nodes,
    'heard again',
    node => node.cuttable || node.kind === 'held' || heardSince(restartedAt)(node),
  )
  const healedAt = performance.now()
  fleet.heal()
  await all(cutNodes, 'refuse the third key', node => watch.refusedAfterMs(node, 'third') !== undefined)
  for (const node of cutNodes) {
    const ms = watch.refusedAfterMs(node, 'third') ?? 0
    const acknowledgedAt = answer.acknowledgedAt + ms
    note(run, situations.cut, Math.max(0, acknowledgedAt - healedAt))
  }
  await all(cutNodes, 'have heard', heardSince(healedAt))
  await all(nodes, 'serve again', ({ keyring }) => keyring.verify(sound.key).valid)
}

/** Whether the service has answered it since then. */
const heardSince = (at: number) => (node: FleetNode) =>
  performance.now() - (node.keyring.stats().confirmedAgeMs ?? Number.POSITIVE_INFINITY) > at

async function issue(run: Run): Promise<{ id: string; key: string }> {
  const { projectId, tenantId } = run.stage.scene
  return await post(run, '/v1/keys', { project_id: projectId, tenant_id: tenantId, env: 'live' })
}

async function revoke(
  run: Run,
  watch: FleetWatch,
  name: string,
  { id, key }: { id: string; key: string },
  query = '',
) {
  const { propagation = {} } = await post(run, `/v1/keys/${id}/revoke${query}`)
  const acknowledgedAt = performance.now()
  watch.revoked(name, { key, acknowledgedAt })
  const { acknowledged = false, nodes = 0, pending = [] } = propagation
  return { acknowledgedAt, acknowledged, nodes, pending }
}

/** Repeated while the service is too busy to answer in time. @throws when it is refused */
async function post({ api, stage }: Run, url: string, body?: unknown): Promise<Answer['body']> {
  for (let tries = 1; ; tries += 1) {
    const answer = await api.ask('POST', url, {
      token: stage.scene.live,
      ...(body !== undefined && { body }),
    })
    if (answer.status < 300) return answer.body
    if (answer.status !== 503 || tries === triesMost) {
      throw new Error(`${url} was answered ${JSON.stringify(answer.body)}`)
    }
  }
}

const note = ({ figures }: Run, situation: string, ms: number) =>
  figures.set(situation, [...(figures.get(situation) ?? []), ms])

const all = (nodes: readonly FleetNode[], what: string, holds: (node: FleetNode) => boolean) =>
  until(`all nodes ${what}`, () => nodes.every(holds))

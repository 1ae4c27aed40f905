import { createKeyring, type Keyring } from '../../packages/sdk/src/index.ts'
import type { Answer } from '../../packages/server/test/mutations.ts'
import { fleetKinds } from './feed-fleet.ts'
import { until } from './pauses.ts'
import { onStage, type Stage } from './stage.ts'

/** Nodes of each kind: five ask every 200 ms, five have their answers held. */
const nodesOfKind = 5
/** How often traffic reaches each node with each key. */
const everyMs = 5

interface Node {
  readonly name: string
  readonly keyring: Keyring
  readonly pollIntervalMs: number
  readonly isHeld: boolean
}

/** A key in traffic, and its verdict while its tenant is not suspended. */
interface Sent {
  readonly name: string
  readonly key: string
  readonly code: string
  /** Its verdict while the tenant is suspended. */
  readonly suspended: string
}

export interface SuspensionOptions {
  cycles: number
  /** How long after the answer a request may still be admitted, beyond the interval for nodes that poll. */
  slackMs: number
  signal?: AbortSignal
  say?: (line: string) => void
}

/**
 * Suspends and resumes one tenant again and again, under traffic to ten nodes.
 * @returns the longest admissions after an answer by kind of node, and what contradicts the promise
 */
export const runSuspensions = ({ cycles, slackMs, signal, say = () => {} }: SuspensionOptions) =>
  onStage(async stage => {
    const scene = await makeTenants(stage)
    const nodes = await openNodes(stage)
    const traffic = startTraffic(nodes, scene.keys)
    const rows = async () => {
      const { rows } = await stage.client.query('select k::text as row from api_keys k order by id')
      return rows.map(({ row }) => row).join('\n')
    }
    const longest = { polled: 0, held: 0 }
    let ended = 0
    try {
      await until('all nodes judge every key', () => traffic.everywhere('code'))
      const before = await rows()
      for (; ended < cycles && !signal?.aborted; ended += 1) {
        await tell(stage, scene.tenantId, 'suspend', ended % 2 === 0 ? '?wait=true' : '')
        const answeredAt = performance.now()
        await until('all nodes refuse the tenant', () => traffic.everywhere('suspended'))
        for (const node of nodes) {
          const ms = Math.max(0, traffic.lastAdmitted(node) - answeredAt)
          const kind = node.isHeld ? 'held' : 'polled'
          longest[kind] = Math.max(longest[kind], ms)
          if (ms > slackMs + (node.isHeld ? 0 : node.pollIntervalMs))
            traffic.broken.push(`${node.name}: admitted a request ${Math.round(ms)} ms after the suspension`)
        }
        await tell(stage, scene.tenantId, 'resume', ended % 3 === 0 ? '?wait=true' : '')
        await until('all nodes judge as before', () => traffic.everywhere('code'))
        say(`${ended + 1} of ${cycles}, ${traffic.broken.length} broken`)
      }
      if ((await rows()) !== before) traffic.broken.push('a row of a key is not what it was')
    } finally {
      traffic.stop()
      await Promise.all(nodes.map(({ keyring }) => keyring.close()))
    }
    const { broken, verified } = traffic
    return {
      broken,
      verified,
      longest,
      ended,
      nodes: nodes.length,
      serverVersion: stage.cluster.serverVersion,
    }
  })

async function post({ api, scene }: Stage, url: string, body: object = {}): Promise<Answer['body']> {
  for (let tries = 1; ; tries += 1) {
    const answer = await api.ask('POST', url, { token: scene.live, body })
    if (answer.status < 300) return answer.body
    if (answer.status !== 503 || tries === 10)
      throw new Error(`${url} was answered ${JSON.stringify(answer.body)}`)
  }
}

/** Repeated while the service is too busy: a repeat changes nothing. */
const tell = (stage: Stage, tenantId: string, verb: 'suspend' | 'resume', query: string) =>
  post(stage, `/v1/tenants/${tenantId}/${verb}${query}`, verb === 'suspend' ? { reason: 'drill' } : undefined)

/** The tenant that is suspended, with keys in several states, and another whose key works all the time. */
async function makeTenants(stage: Stage): Promise<{ tenantId: string; keys: Sent[] }> {
  const { scene } = stage
  const { id: tenantId } = await post(stage, '/v1/tenants', { external_id: 'suspended in the drill' })
  const issue = (more = {}) =>
    post(stage, '/v1/keys', { project_id: scene.projectId, tenant_id: tenantId, env: 'live', ...more })
  const plain = await issue({ name: 'CI', scopes: ['read'], meta: { plan: 'pro' } })
  const ends = await issue({ expires_at: '2090-01-01T00:00:00Z' })
  const paused = await issue()
  await post(stage, `/v1/keys/${paused.id}/disable`)
  const revoked = await issue()
  await post(stage, `/v1/keys/${revoked.id}/revoke`)
  const other = await issue({ tenant_id: scene.tenantId })
  // A node that starts later learns nothing of a key that has ended before.
  const gone = { code: 'unknown_key', suspended: 'unknown_key' }
  return {
    tenantId,
    keys: [
      { name: 'plain', key: plain.key, code: 'valid', suspended: 'suspended_tenant' },
      { name: 'with an end', key: ends.key, code: 'valid', suspended: 'suspended_tenant' },
      { name: 'paused', key: paused.key, ...gone },
      { name: 'revoked', key: revoked.key, ...gone },
      { name: 'of another tenant', key: other.key, code: 'valid', suspended: 'valid' },
    ],
  }
}

async function openNodes({ scene, service }: Stage): Promise<Node[]> {
  const nodes = (['polled', 'held'] as const).flatMap(kind =>
    Array.from({ length: nodesOfKind }, (_, at): Node => {
      const name = `${kind}-${at}`
      const options = { url: service.url, secretKey: scene.live, project: scene.projectId, node: name }
      // Failures are no part of the promise: a node that hears nothing refuses by itself.
      const keyring = createKeyring({ ...options, onError: () => {}, ...fleetKinds[kind] })
      return { name, keyring, isHeld: kind === 'held', pollIntervalMs: fleetKinds[kind].pollIntervalMs }
    }),
  )
  await Promise.all(nodes.map(({ keyring }) => keyring.ready()))
  return nodes
}

/** Sends each key to each node, again and again, and judges each verdict that no suspension explains. */
function startTraffic(nodes: readonly Node[], keys: readonly Sent[]) {
  const broken: string[] = []
  const lastAdmitted = new Map<Node, number>()
  let verified = 0
  const codeOf = (node: Node, { key }: Sent) => {
    verified += 1
    return node.keyring.verify(key).code
  }
  const timer = setInterval(() => {
    for (const node of nodes) {
      for (const sent of keys) {
        const code = codeOf(node, sent)
        const isSuspended = code === 'suspended_tenant' && sent.suspended === code
        if (code === 'valid' && sent.suspended !== 'valid') lastAdmitted.set(node, performance.now())
        // On a machine that stalls, a node refuses what it could not confirm.
        if (code !== sent.code && !isSuspended && code !== 'stale')
          broken.push(`${node.name}: the key ${sent.name} was judged ${code}`)
      }
    }
  }, everyMs)
  return {
    broken,
    get verified() {
      return verified
    },
    lastAdmitted: (node: Node) => lastAdmitted.get(node) ?? 0,
    /** Whether every node gives every key this verdict. */
    everywhere: (what: 'code' | 'suspended') =>
      nodes.every(node => keys.every(sent => codeOf(node, sent) === sent[what])),
    stop: () => clearInterval(timer),
  }
}

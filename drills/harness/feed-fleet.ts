import { createKeyring, type Keyring } from '../../packages/sdk/src/index.ts'
import { startHttpRelay } from './http-relay.ts'
import type { Stage } from './stage.ts'

/** A vendor's process: a real keyring that polls a real service over HTTP. */
export interface FleetNode {
  name: string
  kind: FleetKind
  /** Whether its connection to the service can be cut separately. */
  cuttable: boolean
  cachedTtlMs: number
  pollIntervalMs: number
  keyring: Keyring
}

/** `polled`: its answers are not held, since its records live too briefly. `held`: it waits for changes. */
export type FleetKind = 'polled' | 'held'

export const fleetKinds = {
  polled: { pollIntervalMs: 200, cachedTtlMs: 1_500 },
  // The interval only counts after a failure: an answer is held for 5 s or until there is a change.
  held: { pollIntervalMs: 2_000, cachedTtlMs: 20_000 },
} as const satisfies Record<FleetKind, unknown>

/** Nodes of each kind; every second one can be cut off. */
const nodesOfKind = 4

/** How a network fails: bytes are lost, or connections are refused. */
export type Outage = 'silent' | 'refused'

export interface Fleet {
  readonly nodes: readonly FleetNode[]
  readonly cutNodes: readonly FleetNode[]
  cutOff(outage: Outage): void
  heal(): void
  close(): Promise<void>
}

/** Reserved without a listener, so the system assigns it to no other process. */
const deadUrl = 'http://127.0.0.1:2'

/** @param serviceUrl where the service is now; nodes keep the address of a relay before it. */
export async function openFleet({ scene }: Pick<Stage, 'scene'>, serviceUrl: () => string): Promise<Fleet> {
  let isRefused = false
  const steady = await startHttpRelay(serviceUrl)
  const frail = await startHttpRelay(() => (isRefused ? deadUrl : serviceUrl()))
  const nodes: FleetNode[] = []
  for (const kind of ['polled', 'held'] as const) {
    for (let at = 0; at < nodesOfKind; at += 1) {
      const name = `${kind}-${at}`
      const cuttable = at % 2 === 1
      const keyring = createKeyring({
        url: (cuttable ? frail : steady).url,
        secretKey: scene.live,
        project: scene.projectId,
        node: name,
        // Failures are the purpose of the drill; it reads them from the keyring's counts.
        onError: () => {},
        ...fleetKinds[kind],
      })
      nodes.push({ name, kind, cuttable, keyring, ...fleetKinds[kind] })
    }
  }
  await Promise.all(nodes.map(({ keyring }) => keyring.ready()))

  return {
    nodes,
    cutNodes: nodes.filter(node => node.cuttable),
    cutOff(outage) {
      if (outage === 'refused') isRefused = true
      else frail.delay(null)
      frail.cut()
    },
    heal() {
      isRefused = false
      frail.delay(0)
      frail.cut()
    },
    async close() {
      await Promise.all(nodes.map(({ keyring }) => keyring.close()))
      await steady.close()
      await frail.close()
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { makeSecretKey } from '../../packages/server/test/vendor.ts'
import { openApi, plainly } from './api.ts'
import { AttackerProcess } from './attacker-process.ts'
import { startDrillCluster } from './cluster.ts'
import { type AttackName, elsewhere, type Tally } from './neighbour-attacks.ts'
import { makeDrillScene } from './scene.ts'
import { startDrilledService } from './service.ts'

export interface StolenKeyRun {
  /** Keys of each kind that are stolen, and then revoked by their owner. */
  readonly cycles: number
  /** How long a thief floods before the owner notices, in ms. */
  readonly floodMs: number
  readonly signal?: AbortSignal
  readonly say?: (line: string) => void
}

/** What is stolen, and what a thief does with it. */
export const thefts = [
  { kind: 'a secret key', made: {}, attack: '3,000 connections of one key' },
  { kind: 'a node’s key', made: { preset: 'node' }, attack: '3,000 claims at once of one key' },
] as const satisfies { kind: string; made: object; attack: AttackName }[]

/** One revocation beside the flood. */
export interface Revoked {
  readonly kind: (typeof thefts)[number]['kind']
  readonly ms: number
  /** Status of the revocation, and then of a request with the revoked key. */
  readonly statuses: readonly [revocation: number, afterwards: number]
  /** The thief's answers, by status. */
  readonly tally: Tally
}

/** How long the owner may wait, in ms. */
export const revokedWithinMs = 1_000

/** A thief uses a key of its owner's on 3,000 connections at full speed, and the owner revokes that key. */
export async function revokeStolenKeys({ cycles, floodMs, signal, say }: StolenKeyRun): Promise<Revoked[]> {
  const cluster = await startDrillCluster({ durable: true })
  const service = await startDrilledService(cluster.connection)
  const api = openApi(service.url)
  const thief = new AttackerProcess()
  try {
    const owner = await makeDrillScene(api)
    const revoked: Revoked[] = []
    for (let cycle = 0; cycle < cycles && !signal?.aborted; cycle++) {
      for (const { kind, made, attack } of thefts) {
        say?.(`${kind} is stolen, ${cycle + 1} of ${cycles}`)
        const stolen = await makeSecretKey({ ask: plainly(api) }, owner, made)
        const { projectId, tenantId } = owner
        const target = { url: service.url, live: stolen.key, projectId, tenantId, from: elsewhere }
        await thief.start(attack, target)
        await sleep(floodMs)
        const began = performance.now()
        const { status } = await api.ask('POST', `/v1/secret_keys/${stolen.id}/revoke`, { token: owner.live })
        const ms = performance.now() - began
        const after = await api.ask('GET', '/v1/keys', { token: stolen.key })
        revoked.push({ kind, ms, statuses: [status, after.status], tally: await thief.stop() })
      }
    }
    return revoked
  } finally {
    thief.end()
    api.close()
    await service.kill()
    await cluster.remove()
  }
}

/** What is wrong with a revocation. */
export const faultsOf = ({ kind, ms, statuses: [revocation, afterwards] }: Revoked): string[] =>
  [
    ...(revocation === 200 ? [] : [`the owner's revocation was answered ${revocation}`]),
    ...(afterwards === 401 ? [] : [`the revoked key was answered ${afterwards}`]),
    ...(ms <= revokedWithinMs ? [] : [`the owner's revocation took ${Math.round(ms)} ms`]),
  ].map(fault => `${kind} on 3,000 connections: ${fault}`)

import { setTimeout as sleep } from 'node:timers/promises'
import { peakRssBytes, resetPeakRss } from '../../bench/harness/proc.ts'
import { madePassword, makePerson } from '../../packages/server/test/people.ts'
import { type Api, openApi } from './api.ts'
import { AttackerProcess } from './attacker-process.ts'
import { connectDirectly, startDrillCluster } from './cluster.ts'
import { type AttackName, attacks, elsewhere, type Tally, type Target } from './neighbour-attacks.ts'
import { besideOthers, type OwnProcesses, settle } from './neighbour-machine.ts'
import { type Neighbour, type Probed, probe, probeNames } from './neighbour-probe.ts'
import type { Round, Turns } from './neighbour-verdict.ts'
import { makeDrillScene } from './scene.ts'
import { startDrilledService } from './service.ts'

export interface NeighbourRun {
  /** Rounds with each attack. */
  readonly cycles: number
  /** How long a turn with the attack is, in ms; the quiet turn before it and that after it have half of that each. */
  readonly turnMs: number
  /** Rows of the attacker's chain, and keys of its project. */
  readonly rows: number
  readonly keys: number
  readonly names?: readonly AttackName[]
  readonly signal?: AbortSignal
  readonly say?: (line: string) => void
}

export interface Attacked extends Turns {
  /** The attacker's answers, by status. */
  readonly tally: Tally
}

/** Until an attack is at full speed, and until its last requests have ended. */
const restMs = 500
/** Runs one attack after another at full speed, between quiet turns, and measures a neighbour in both. */
export async function runNeighbours(
  run: NeighbourRun,
): Promise<{ attacked: Attacked[]; serverVersion: string }> {
  const cluster = await startDrillCluster({ durable: true })
  const client = await connectDirectly(cluster)
  const service = await startDrilledService(cluster.connection)
  const api = openApi(service.url)
  const attacker = new AttackerProcess()
  try {
    const query = async (text: string, values?: unknown[]) => (await client.query(text, values)).rows
    const person = { email: (await makePerson(query)).email, password: madePassword }
    const target = await makeTarget(api, query, service.url, run)
    await probe(api, { ...person, ...(await makeDrillScene(api)) }, 2 * run.turnMs)
    const own = { service: service.pid, attacker: attacker.pid, postmaster: cluster.pid }
    const attacked: Attacked[] = []
    for (const name of run.names ?? (Object.keys(attacks) as AttackName[])) {
      if (run.signal?.aborted) break
      // Another one for each attack: the keys of all rounds together are more than a tenant may have, or a poll may bring.
      const neighbour: Neighbour = { ...person, ...(await makeDrillScene(api)) }
      const rounds: Round[] = []
      const tally: Tally = {}
      let grownBytes = 0
      const attack: Attack = {
        start: () => attacker.start(name, target),
        async stop() {
          for (const [status, times] of Object.entries(await attacker.stop()))
            tally[status] = (tally[status] ?? 0) + times
        },
      }
      const measure = (forMs: number) => probe(api, neighbour, forMs)
      for (let cycle = 0; cycle < run.cycles; cycle++) {
        run.say?.(`${name}, ${cycle + 1} of ${run.cycles}`)
        const { grown, ...round } = await playRound(own, attack, measure, run.turnMs)
        rounds.push(round)
        grownBytes = Math.max(grownBytes, grown)
      }
      attacked.push({ attack: name, rounds, grownBytes, tally })
    }
    return { attacked, serverVersion: cluster.serverVersion }
  } finally {
    attacker.end()
    api.close()
    await service.kill()
    await client.end()
    await cluster.remove()
  }
}

interface Attack {
  start(): Promise<void>
  stop(): Promise<void>
}

/** A turn with the attack between the halves of a quiet one, so that a machine that drifts slows both alike. */
async function playRound(
  own: OwnProcesses,
  attack: Attack,
  measure: (forMs: number) => Promise<Probed>,
  turnMs: number,
): Promise<Round & { grown: number }> {
  const before = await besideOthers(own, () => measure(turnMs / 2))
  const rssBefore = peakRssBytes(own.service)
  resetPeakRss(own.service)
  await attack.start()
  await sleep(restMs)
  const loud = await measure(turnMs)
  await attack.stop()
  await sleep(restMs)
  const grown = peakRssBytes(own.service) - rssBefore
  await settle(own)
  resetPeakRss(own.service)
  const after = await besideOthers(own, () => measure(turnMs / 2))
  return {
    quiet: both(before.result, after.result),
    loud,
    others: (before.others + after.others) / 2,
    grown,
  }
}

const both = (one: Probed, other: Probed): Probed => ({
  ms: Object.fromEntries(
    probeNames.map(name => [name, [...one.ms[name], ...other.ms[name]]]),
  ) as unknown as Probed['ms'],
  refused: [...one.refused, ...other.refused],
})

/** A workspace with a long chain, and a project with many keys. */
async function makeTarget(
  api: Api,
  query: (text: string, values?: unknown[]) => Promise<unknown[]>,
  url: string,
  { rows, keys }: NeighbourRun,
): Promise<Target> {
  const { live, projectId, tenantId } = await makeDrillScene(api)
  const { body: workspace } = await api.ask('GET', '/v1/workspace', { token: live })
  const repeated = (what: string) => `array_fill(${what}, array[$2::int])`
  await query(
    `select audit_append($1, 'system', null, service_now(), ${repeated(`'workspace.updated'::text`)},
       ${repeated(`'workspace'::text`)}, ${repeated('$1::uuid')}, ${repeated('null::text')}, ${repeated('$3::text')}, null)`,
    [workspace.id, rows, JSON.stringify({ name: { old: 'x'.repeat(200), new: 'y'.repeat(200) } })],
  )
  let left = keys
  const create = async () => {
    while (left-- > 0)
      await api.ask('POST', '/v1/keys', {
        token: live,
        body: { project_id: projectId, tenant_id: tenantId, env: 'live' },
      })
  }
  await Promise.all(Array.from({ length: 8 }, create))
  return { url, live, projectId, tenantId, from: elsewhere }
}

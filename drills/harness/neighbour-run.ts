import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { peakRssBytes, resetPeakRss } from '../../bench/harness/proc.ts'
import { makeScene } from '../../packages/server/test/mutations.ts'
import { madePassword, makePerson } from '../../packages/server/test/people.ts'
import { openApi, plainly } from './api.ts'
import { connectDirectly, startDrillCluster } from './cluster.ts'
import type { AttackMessage, AttackReply } from './neighbour-attacker.ts'
import { type AttackName, attacks, type Tally, type Target } from './neighbour-attacks.ts'
import { type Neighbour, type Probed, probe } from './neighbour-probe.ts'
import type { Turns } from './neighbour-verdict.ts'
import { bootstrapToken, startDrilledService } from './service.ts'

export interface NeighbourRun {
  /** Turns with each attack, each after one without. */
  readonly cycles: number
  /** How long a turn is, in ms. */
  readonly turnMs: number
  /** Rows that the attacker's chain has, and keys of its project. */
  readonly rows: number
  readonly keys: number
  readonly names?: readonly AttackName[]
  readonly signal?: AbortSignal
  readonly say?: (line: string) => void
}

export interface Attacked extends Turns {
  /** What the attacker heard, by status. */
  readonly tally: Tally
}

/** Between two turns: what the last one left under way ends. */
const restMs = 500
/** Another network than the neighbour's 127.0.0.1. */
const elsewhere = '127.0.0.2'

/** Lets one attack after another be made at full speed, beside quiet turns, and measures a neighbour in both. */
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
    const neighbour: Neighbour = {
      ...(await makeScene(plainly(api), bootstrapToken)),
      email: (await makePerson(query)).email,
      password: madePassword,
    }
    const target = await makeTarget(api, query, service.url, run)
    await probe(api, neighbour, 2 * run.turnMs)
    const attacked: Attacked[] = []
    for (const name of run.names ?? (Object.keys(attacks) as AttackName[])) {
      if (run.signal?.aborted) break
      const quiet: Probed[] = []
      const loud: Probed[] = []
      const tally: Tally = {}
      let grownBytes = 0
      for (let cycle = 0; cycle < run.cycles; cycle++) {
        run.say?.(`${name}, ${cycle + 1} of ${run.cycles}`)
        quiet.push(await probe(api, neighbour, run.turnMs))
        const before = peakRssBytes(service.pid)
        resetPeakRss(service.pid)
        await attacker.start(name, target)
        await sleep(restMs)
        loud.push(await probe(api, neighbour, run.turnMs))
        for (const [status, times] of Object.entries(await attacker.stop()))
          tally[status] = (tally[status] ?? 0) + times
        grownBytes = Math.max(grownBytes, peakRssBytes(service.pid) - before)
        await sleep(restMs)
        resetPeakRss(service.pid)
      }
      attacked.push({ attack: name, quiet, loud, grownBytes, tally })
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

/** A workspace with a long chain, and a project with many keys. */
async function makeTarget(
  api: ReturnType<typeof openApi>,
  query: (text: string, values?: unknown[]) => Promise<unknown[]>,
  url: string,
  { rows, keys }: NeighbourRun,
): Promise<Target> {
  const { live, projectId, tenantId } = await makeScene(plainly(api), bootstrapToken)
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

/** The attacker, in a process of its own, which ends with us. */
class AttackerProcess {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('neighbour-attacker.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {},
  })

  async start(name: AttackName, target: Target): Promise<void> {
    await this.#tell({ type: 'start', name, target })
  }

  async stop(): Promise<Tally> {
    const reply = await this.#tell({ type: 'stop' })
    return reply.type === 'stopped' ? reply.tally : {}
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }

  /** @throws when the process ends before it has replied. */
  async #tell(message: AttackMessage): Promise<AttackReply> {
    const { promise, resolve, reject } = Promise.withResolvers<AttackReply>()
    const onExit = () => reject(new Error('the attacker’s process has ended'))
    this.#child.once('message', resolve as (reply: unknown) => void).once('exit', onExit)
    this.#child.send(message)
    return await promise.finally(() => this.#child.off('exit', onExit))
  }
}

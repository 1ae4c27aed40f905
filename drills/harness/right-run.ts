import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../bench/harness/statistics.ts'
import { codehostKeysFile } from '../../packages/server/test/codehost.ts'
import { openApi, type TimedAnswer, Unanswered } from './api.ts'
import { AttackerProcess } from './attacker-process.ts'
import { connectDirectly, startDrillCluster } from './cluster.ts'
import { elsewhere, type Tally } from './neighbour-attacks.ts'
import { ms } from './neighbour-verdict.ts'
import type { RightCase, RightStage } from './right-cases.ts'
import { makeDrillScene } from './scene.ts'
import { startDrilledService } from './service.ts'

type Cases = Readonly<Record<string, (stage: RightStage) => Promise<RightCase>>>

export interface RightRun {
  readonly cases: Cases
  /** Rounds of each case. */
  readonly cycles: number
  /** How long a flood runs before the owner acts, in ms. */
  readonly floodMs: number
  readonly signal?: AbortSignal
  readonly say?: (line: string) => void
}

/** What an owner asked for beside a flood. */
export interface Ended {
  readonly name: string
  readonly ms: number
  /** The answer to the owner's request, and then to a use of the ended right; null: nothing ends. 0: no answer came. */
  readonly statuses: readonly [end: number, use: number | null]
  /** The flood's answers, by status. */
  readonly tally: Tally
}

/** How long the owner may wait, in ms. */
export const endedWithinMs = 1_000

/** Lets the holder of a right flood the service, and its owner act beside it. Each round has another workspace. */
export async function runRights({ cases, cycles, floodMs, signal, say }: RightRun): Promise<Ended[]> {
  const cluster = await startDrillCluster({ durable: true })
  const client = await connectDirectly(cluster)
  const service = await startDrilledService(cluster.connection, {
    env: { SERVICE_CODEHOST_KEYS_FILE: codehostKeysFile },
  })
  const api = openApi(service.url)
  const holder = new AttackerProcess()
  const query = async (text: string, values?: unknown[]) => (await client.query(text, values)).rows
  try {
    const ended: Ended[] = []
    for (let cycle = 0; cycle < cycles && !signal?.aborted; cycle++) {
      for (const [name, prepare] of Object.entries(cases)) {
        say?.(`${name}, ${cycle + 1} of ${cycles}`)
        const { floods, end, use } = await prepare({ api, query, owner: await makeDrillScene(api) })
        await holder.startFloods(floods, { url: service.url, from: elsewhere })
        await sleep(floodMs)
        const began = performance.now()
        const status = await statusOf(end())
        const took = performance.now() - began
        const used = use === null ? null : await statusOf(use())
        ended.push({ name, ms: took, statuses: [status, used], tally: await holder.stop() })
      }
    }
    return ended
  } finally {
    holder.end()
    api.close()
    await service.kill()
    await client.end()
    await cluster.remove()
  }
}

async function statusOf(asked: Promise<TimedAnswer>): Promise<number> {
  try {
    return (await asked).status
  } catch (error) {
    if (error instanceof Unanswered) return 0
    throw error
  }
}

/** What contradicts the promise. */
export const faultsOf = ({ name, ms: took, statuses: [end, use] }: Ended): string[] =>
  [
    ...(end >= 200 && end < 300 ? [] : [`the owner was answered ${end}`]),
    ...(use === null || [401, 403, 404].includes(use) ? [] : [`the ended right was answered ${use}`]),
    ...(took <= endedWithinMs ? [] : [`the owner waited ${Math.round(took)} ms`]),
  ].map(fault => `${name}: ${fault}`)

/** A line for each case: how long its owner waited. */
export function notesOf(ended: readonly Ended[]): string[] {
  const byName = Map.groupBy(ended, ({ name }) => name)
  return [...byName].map(([name, rounds]) => {
    const took = rounds.map(round => round.ms)
    const answers = rounds.reduce(
      (sum, { tally }) => sum + Object.values(tally).reduce((a, b) => a + b, 0),
      0,
    )
    return `${name}: ${rounds.length} times, median ${ms(median(took))}, longest ${ms(Math.max(...took))} ms, ${answers} requests of the flood`
  })
}

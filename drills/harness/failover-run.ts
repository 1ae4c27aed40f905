import type { AskApi } from '../../packages/server/test/mutations.ts'
import { type Seeded, seeded } from '../../packages/server/test/seeded.ts'
import { until } from '../../packages/server/test/until.ts'
import type { DrillOptions } from './drill.ts'
import { Changes } from './failover-changes.ts'
import { type FailoverStage, onFailoverStage } from './failover-stage.ts'
import { judgeChain, judgeNodes, judgeVersions, readTruth } from './failover-verdict.ts'

export const standbys = ['asynchronous', 'synchronous'] as const
type Standby = (typeof standbys)[number]

interface FailoverFigures {
  failovers: number
  /** Changes that the old primary acknowledged. */
  acknowledged: number
  /** What the new primary does not have of them. */
  lost: { keys: number; revocations: number }
  /** Verdicts of nodes that were compared with the new primary. */
  verdicts: number
}

interface Failovers {
  readonly figures: Readonly<Record<Standby, FailoverFigures>>
  readonly broken: string[]
  readonly serverVersion: string
}

const none = (): FailoverFigures => ({
  failovers: 0,
  acknowledged: 0,
  lost: { keys: 0, revocations: 0 },
  verdicts: 0,
})
/** Keys that both servers have before each failover. */
const keysBefore = 12
/** How far the asynchronous standby is behind, at most. */
const commitsMost = 12
/** Acknowledged changes of a synchronous standby, at least. */
const changesLeast = 20

export async function runFailovers({
  cycles,
  seed,
  signal,
  say = () => {},
}: { cycles: number } & Pick<DrillOptions, 'seed'> &
  Partial<Pick<DrillOptions, 'signal' | 'say'>>): Promise<Failovers> {
  const figures = { asynchronous: none(), synchronous: none() }
  const broken: string[] = []
  const random = seeded(seed)
  let serverVersion = ''
  for (let cycle = 1; cycle <= cycles && !signal?.aborted; cycle += 1) {
    for (const standby of standbys) {
      say(`cycle ${cycle} of ${cycles}, ${standby} standby`)
      const own: string[] = []
      serverVersion = await onFailoverStage(async stage => {
        await failOnce(stage, standby, random, figures[standby], own)
        const [{ server_version }] = await stage.pair.on('standby', 'show server_version')
        return server_version
      })
      broken.push(...own.map(line => `cycle ${cycle}, ${standby} standby: ${line}`))
    }
  }
  return { figures, broken, serverVersion }
}

async function failOnce(
  stage: FailoverStage,
  standby: Standby,
  random: Seeded,
  figures: FailoverFigures,
  broken: string[],
): Promise<void> {
  const { pair, asks } = stage
  const changes = new Changes(stage, random)
  for (let number = 0; number < keysBefore; number += 1) await changes.issue()
  if (standby === 'synchronous') await pair.synchronous()
  const kept = await changes.make(4)
  if (standby === 'asynchronous') await pair.holdBack()
  const safe = { issued: new Set(changes.issued.keys()), revoked: new Set(changes.revoked) }
  const late = standby === 'asynchronous' ? await changes.make(1 + random.integer(commitsMost)) : []
  for (const id of [...kept, ...late])
    for (const { name, keyring } of stage.nodes)
      if (keyring.verify(changes.issued.get(id)?.key).valid)
        broken.push(`${name} accepts a key whose revocation was acknowledged`)

  // Changes go on while the primary dies, through both processes.
  const end = keepChanging(changes, asks)
  if (standby === 'synchronous') {
    const target = changes.acknowledged + changesLeast
    await until(() => changes.acknowledged >= target, 'changes are acknowledged')
  }
  const killedAt = performance.now()
  await pair.failOver()
  const promotedAt = performance.now()
  await end()
  const atKill = { issued: new Set(changes.issued.keys()), revoked: new Set(changes.revoked) }

  figures.verdicts += await judgeNodes(stage, changes, broken)
  const truth = await readTruth(stage)
  const lostKeys = [...atKill.issued].filter(id => !truth.has(id))
  const lostRevocations = [...atKill.revoked].filter(id => truth.get(id) === true)
  const mayLose = standby === 'asynchronous'
  for (const id of lostKeys)
    if (!mayLose || safe.issued.has(id)) broken.push('a key is lost that the standby had')
  for (const id of lostRevocations)
    if (!mayLose || safe.revoked.has(id)) broken.push('a revocation is lost that the standby had')
  figures.failovers += 1
  figures.acknowledged += atKill.issued.size + atKill.revoked.size
  figures.lost.keys += lostKeys.length
  figures.lost.revocations += lostRevocations.length

  // What an operator repeats, and new changes, which must not be taken for those that are lost.
  await Promise.all(
    lostRevocations.map((id, i) =>
      repeatRevocation(stage, changes, id, asks[i % asks.length] as AskApi, broken),
    ),
  )
  for (const ask of asks)
    for (let number = 0; number < 3; number += 1) {
      const isIssued = async () => (await changes.issue(ask)) !== null
      await until(isIssued, 'a key is issued')
    }
  figures.verdicts += await judgeNodes(stage, changes, broken)
  judgeVersions(stage, changes, { killedAt, promotedAt }, broken)
  await judgeChain(stage, broken)
}

/** @returns what ends it, once the changes under way are answered. */
function keepChanging(changes: Changes, asks: readonly AskApi[]): () => Promise<void> {
  let isOver = false
  const working = asks.map(async ask => {
    while (!isOver) {
      await changes.issue(ask)
      if (!isOver) await changes.revoke(ask)
    }
  })
  return async () => {
    isOver = true
    await Promise.all(working)
  }
}

/** For 90 s the database may lack a node that lives, so no revocation is acknowledged. */
async function repeatRevocation(
  { pair }: FailoverStage,
  changes: Changes,
  id: string,
  ask: AskApi,
  broken: string[],
): Promise<void> {
  const answer = await changes.revokeAgain(id, ask)
  if (answer === null) return void broken.push('a repeated revocation was refused')
  const isNew = `select raised_at > service_now() - interval '90 seconds' as yes from store_levels`
  const [{ yes }] = await pair.on('standby', isNew)
  if (yes && answer.acknowledged) broken.push('a revocation was acknowledged within 90 s of the failover')
}

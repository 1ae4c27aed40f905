import { type ChainScene, makeChain } from './chain-scene.ts'
import { type Forgery, forgeriesOf, rehash } from './forgeries.ts'
import { sideRowForgeries } from './side-rows.ts'
import type { Stage } from './stage.ts'

interface KindTally {
  tried: number
  /** Reported as it must be: invalid at the right position, or still valid where it must be. */
  right: number
}

export interface Tampering {
  length: number
  kinds: Map<string, KindTally>
  broken: string[]
  notes: string[]
}

export interface TamperOptions {
  /** Rows of the chain, at least. */
  rows: number
  /** One in this many forgeries is tried, beginning with this one. */
  every?: number
  first?: number
  say?(line: string): void
}

/** Forges a chain in every way, one at a time, and asks the service to verify it each time. */
export async function tamper(
  stage: Stage,
  { rows: least, every = 1, first = 0, say = () => {} }: TamperOptions,
): Promise<Tampering> {
  const scene = await makeChain(stage, least)
  const { length } = scene
  const kinds = new Map<string, KindTally>()
  const broken: string[] = []
  const untouched = await askChain(stage)
  if (!untouched.valid || untouched.checked !== length) broken.push(`untouched: ${JSON.stringify(untouched)}`)

  const all: Forgery[] = [...forgeriesOf(length), ...(await sideRowForgeries(scene))]
  const tried = all.filter((_, place) => place % every === first % every)
  for (const { kind, name, forge, firstBad, orElse = firstBad } of tried) {
    await forge(scene)
    const answer = await askChain(stage)
    const tally = kinds.get(kind) ?? { tried: 0, right: 0 }
    kinds.set(kind, tally)
    tally.tried += 1
    const isRight = answer.first_bad_seq === firstBad || answer.first_bad_seq === orElse
    if (answer.valid === (firstBad === null) && isRight) tally.right += 1
    else broken.push(`${kind}, ${name}: expected ${firstBad}, got ${answer.first_bad_seq} (${answer.reason})`)
    await scene.putBack()
    say(`${kind}, ${name}: ${broken.length} broken`)
  }
  const after = await askChain(stage)
  if (after.valid !== true) broken.push(`put back: ${JSON.stringify(after)}`)
  return { length, kinds, broken, notes: [await rewritten(stage, scene)] }
}

async function askChain({ api, scene }: Stage) {
  const { status, body } = await api.ask('GET', '/v1/audit_logs/chain', { token: scene.live })
  if (status !== 200) throw new Error(`the chain's verification was answered ${status}`)
  return body
}

/**
 * The limit of a chain: the owner of the database may rewrite the last rows and the head, hashes included. Then the
 * head has another hash, which shows to anyone with an earlier copy of it.
 */
async function rewritten(stage: Stage, scene: ChainScene): Promise<string> {
  const { client, workspaceId, length } = scene
  const noted = await askChain(stage)
  await client.query(`update audit_logs set actor_id = null where workspace_id = $1 and seq = $2`, [
    workspaceId,
    length,
  ])
  await rehash(scene, length)
  await client.query(
    `update audit_heads set hash = (select hash from audit_logs where workspace_id = $1 and seq = $2)
     where workspace_id = $1`,
    [workspaceId, length],
  )
  const answer = await askChain(stage)
  await scene.putBack()
  const seen = answer.head_hash === noted.head_hash ? 'is the same' : 'is another than the one noted before'
  return `outside of the promise: with the last row and the head rewritten together, the chain verifies: ${answer.valid}; the head's hash ${seen}`
}

import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../../packages/server/test/seeded.ts'
import type { Scene } from '../../packages/server/test/vendor.ts'
import { type Api, type TimedAnswer, Unanswered } from './api.ts'
import { type MutationPlan, noBelongings, planMutation } from './client-mutations.ts'

/** A mutation as a client sent it, and its answer. */
export interface Sent {
  plan: MutationPlan
  replayKey: string | null
  /** On the clock of `performance.now()`. */
  sentAt: number
  /** Null while, or when, no complete answer came. */
  answer: TimedAnswer | null
  /** How long until it was answered or cut. */
  ms: number
  hung: boolean
}

/** How long a refused client waits before it tries again, in milliseconds. */
const breathMs = 20

export interface Load {
  readonly sent: readonly Sent[]
  /** Mutations answered with success so far. */
  acknowledged(): number
  /** Mutations under way. */
  pending(): number
  /** No client begins another mutation; resolves when those under way have ended, in any way. */
  stop(): Promise<void>
}

/**
 * Lets clients mutate at once until they are stopped, each its own resources in one of the workspaces.
 *
 * @param prefix begins every name and slug, so that the load's rows can be found again
 */
export function startLoad(
  api: Api,
  scenes: readonly Scene[],
  { clients, prefix, seed }: { clients: number; prefix: string; seed: number },
): Load {
  const sent: Sent[] = []
  let acknowledged = 0
  let pending = 0
  let stopping = false
  const running = Array.from({ length: clients }, async (_, index) => {
    const random = seeded(seed * 1_000 + index)
    const own = noBelongings()
    const scene = scenes[index % scenes.length] as Scene
    for (let step = 0; !stopping; step += 1) {
      const marker = `${prefix}-${index}-${step}`
      const plan = planMutation({ random, own, scene, marker })
      const one = makeSent(plan, plan.replayable ? marker : null)
      sent.push(one)
      pending += 1
      await sendMutation(api, one)
      pending -= 1
      if (!isAcknowledged(one)) {
        await sleep(breathMs)
        continue
      }
      acknowledged += 1
      plan.remember(one.answer?.body)
    }
  })
  return {
    sent,
    acknowledged: () => acknowledged,
    pending: () => pending,
    async stop() {
      stopping = true
      await Promise.all(running)
    },
  }
}

export const makeSent = (plan: MutationPlan, replayKey: string | null): Sent => ({
  plan,
  replayKey,
  sentAt: performance.now(),
  answer: null,
  ms: 0,
  hung: false,
})

export const isAcknowledged = ({ answer }: Sent): boolean =>
  answer !== null && answer.status >= 200 && answer.status < 300

/** Before its transaction began: on a busy machine other requests of the same caller overtake one while the store hangs. */
export const isOvertaken = (status: number, code: string | undefined): boolean =>
  status === 429 && code === 'too_many_in_flight'

/** Sends it, and records the answer. */
export async function sendMutation(api: Api, sent: Sent): Promise<void> {
  const [method, url, body] = sent.plan.call
  const headers = sent.replayKey === null ? {} : { 'idempotency-key': sent.replayKey }
  try {
    sent.answer = await api.ask(method, url, {
      token: sent.plan.token,
      headers,
      ...(body !== undefined && { body }),
    })
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error
    sent.hung = error.hung
  } finally {
    sent.ms = performance.now() - sent.sentAt
  }
}

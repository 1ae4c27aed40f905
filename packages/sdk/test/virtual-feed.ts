import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Keyring, openKeyring } from '../src/keyring/keyring.ts'
import { project, secretKey, workspaceId } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'

/** Nodes, their service and what lies between them, all on a clock that a test advances. */

/** What becomes of a request. `hangs`: nothing ever comes. A number: the status of an answer. */
export type Fate = 'works' | 'hangs' | 'reset' | number | Response

/** One request, when it was sent, and for how long its answer may be held. */
export interface Sent {
  at: number
  heldMs: number
}

export interface Between {
  /** How long something between node and service waits for an answer, and what it does then. */
  gateway?: { afterMs: number; fate: Fate }
  /** What happens to a request that arrives. Default: it works. */
  on?: (sent: Sent) => Fate
  /** How far the clock of the process that answers is ahead, in ms. Default: not at all. */
  aheadMs?: (sent: Sent) => number
  /** The same for the clock by which something writes `Date`. Default: the service's. */
  dateAheadMs?: (sent: Sent) => number
  /** Connections in use at this time never carry another byte. */
  cutAt?: (now: number) => boolean
}

const EPOCH = Date.parse('2027-01-01T00:00:00Z')
const STEP_MS = 250

/** Virtual milliseconds since the beginning. */
export const now = (): number => Date.now() - EPOCH

export class VirtualFleet {
  readonly #version = { at: 1 }
  readonly #revokedAt: number
  readonly good = drawKey()
  readonly revoked = drawKey()

  /** @param revokedAt when the second key is revoked */
  constructor(revokedAt: number) {
    this.#revokedAt = revokedAt
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: EPOCH })
  }

  open(between: Between): { keyring: Keyring; errors: string[]; sent: Sent[] } {
    const errors: string[] = []
    const sent: Sent[] = []
    const keyring = openKeyring(
      {
        url: 'http://127.0.0.1',
        secretKey,
        project,
        onError: ({ code }) => errors.push(code),
        fetch: async (input, init) => await this.#fetch(String(input), init ?? {}, { between, sent }),
      },
      { clock: { wall: () => Date.now(), monotonic: now }, random: () => 0.5 },
    )
    return { keyring, errors, sent }
  }

  /** Advances the clock, and calls back after each step. */
  async pass(milliseconds: number, check: () => void = () => {}): Promise<void> {
    const end = now() + milliseconds
    while (now() < end) {
      mock.timers.tick(STEP_MS)
      if (now() >= this.#revokedAt) this.#version.at = 2
      for (let times = 0; times < 3; times++) await turn()
      check()
    }
  }

  async close(keyrings: readonly Keyring[]): Promise<void> {
    await Promise.all(keyrings.map(keyring => keyring.close()))
    mock.timers.reset()
  }

  async #fetch(
    url: string,
    { signal, headers }: RequestInit,
    { between, sent }: { between: Between; sent: Sent[] },
  ): Promise<Response> {
    const { searchParams, pathname } = new URL(url)
    const prefer = new Headers(headers).get('prefer') ?? ''
    const heldMs = Number(/wait=(\d+)/.exec(prefer)?.[1] ?? 0) * 1_000
    const request = { at: now(), heldMs }
    sent.push(request)
    const { gateway, on = () => 'works', cutAt = () => false, aheadMs = () => 0 } = between
    const ahead = aheadMs(request)
    const clocks = { generated: ahead, date: between.dateAheadMs?.(request) ?? ahead }
    const fate = on(request)
    if (fate !== 'works') return await meet(fate, signal)
    const since = Number(searchParams.get('since'))
    const isOver = () => this.#version.at !== since || now() - request.at >= heldMs
    while (!cutAt(now())) {
      if (pathname.endsWith('/snapshot'))
        return this.#answer('policy_snapshot', { next_cursor: null }, clocks)
      if (isOver()) return this.#answer('policy_delta', { since }, clocks, heldMs)
      if (gateway && now() - request.at >= gateway.afterMs) return await meet(gateway.fate, signal)
      await step(signal)
    }
    return await meet('hangs', signal)
  }

  #answer(object: string, more: object, ahead: { generated: number; date: number }, heldMs = 0): Response {
    const { at } = this.#version
    const [good, revoked] = [policyKey(this.good, 1), policyKey(this.revoked, 2)]
    const { key_id, env, lookup_hash } = revoked
    const tombstone = { change: 'tombstone', key_id, env, lookup_hash }
    const body = {
      object,
      workspace_id: workspaceId,
      project_id: project,
      env: 'live',
      version: at,
      project_deleted: false,
      generated_at: new Date(Date.now() + ahead.generated).toISOString(),
      ...(object === 'policy_snapshot' ? { keys: at === 1 ? [good, revoked] : [good] } : {}),
      ...more,
    }
    const changes = (more as { since?: number }).since === at ? [] : [tombstone]
    return Response.json(object === 'policy_delta' ? { ...body, changes } : body, {
      headers: {
        date: new Date(Date.now() + ahead.date).toUTCString(),
        ...(heldMs > 0 && { 'preference-applied': 'wait' }),
      },
    })
  }
}

async function meet(fate: Fate, signal: AbortSignal | null | undefined): Promise<Response> {
  if (fate instanceof Response) return fate.clone()
  if (typeof fate === 'number') return new Response('<h1>gateway</h1>', { status: fate })
  if (fate === 'reset') throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
  return await new Promise((_, reject) =>
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}

async function step(signal: AbortSignal | null | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise(resolve => setTimeout(resolve, STEP_MS))
  signal?.throwIfAborted()
}

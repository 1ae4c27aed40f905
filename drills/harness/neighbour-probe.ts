import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Api, Unanswered } from './api.ts'

/** Whose requests are measured: a workspace, and a person. */
export interface Neighbour {
  readonly live: string
  readonly projectId: string
  readonly tenantId: string
  readonly email: string
  readonly password: string
}

/** Milliseconds of each answer by request, and the answers that a quiet turn would not give. */
export interface Probed {
  readonly ms: Readonly<Record<ProbeName, readonly number[]>>
  readonly refused: readonly string[]
}

export type ProbeName = keyof typeof probes

type Ask = Api['ask']

/** Milliseconds between two requests of a kind; a slower one delays the next. `since`: the last version received. */
const probes = {
  check: {
    everyMs: 25,
    ask: (ask: Ask, { live, projectId }: Neighbour) =>
      ask('POST', '/v1/ratelimit/check', {
        token: live,
        body: {
          project_id: projectId,
          env: 'live',
          key_id: randomUUID(),
          limits: [{ id: 'burst', limit: 100, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
        },
      }),
  },
  claim: {
    everyMs: 25,
    ask: (ask: Ask, { live }: Neighbour) =>
      ask('POST', '/v1/idempotency/claim', {
        token: live,
        body: { scope_hash: randomBytes(32).toString('hex'), env: 'live', fingerprint: '0'.repeat(64) },
      }),
  },
  poll: {
    everyMs: 25,
    ask: (ask: Ask, { live, projectId }: Neighbour, since: number) =>
      ask('GET', `/v1/policy/delta?project_id=${projectId}&since=${since}&node=neighbour`, { token: live }),
  },
  'key creation': {
    everyMs: 100,
    ask: (ask: Ask, { live, projectId, tenantId }: Neighbour) =>
      ask('POST', '/v1/keys', {
        token: live,
        body: { project_id: projectId, tenant_id: tenantId, env: 'test' },
      }),
  },
  'sign-in': {
    everyMs: 250,
    ask: (ask: Ask, { email, password }: Neighbour) =>
      ask('POST', '/v1/auth/sessions', { body: { email, password } }),
  },
} as const

export const probeNames = Object.keys(probes) as ProbeName[]

/** Sends a neighbour's usual requests, one of each kind at a time. */
export async function probe(api: Api, neighbour: Neighbour, forMs: number): Promise<Probed> {
  const ms = Object.fromEntries(probeNames.map(name => [name, [] as number[]])) as Record<ProbeName, number[]>
  const refused: string[] = []
  const end = performance.now() + forMs
  let since = 1
  const askOnce = async (name: ProbeName) => {
    try {
      const answer = await probes[name].ask(api.ask, neighbour, since)
      ms[name].push(answer.ms)
      if (name === 'poll' && answer.status === 200) since = answer.body.version
      if (answer.status >= 300) refused.push(`${name} was answered ${answer.status}`)
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error
      refused.push(`${name} was not answered: ${error.message}`)
    }
  }
  const pace = async (name: ProbeName) => {
    for (
      let next = performance.now();
      next < end;
      next = Math.max(next + probes[name].everyMs, performance.now())
    ) {
      await sleep(Math.max(0, next - performance.now()))
      await askOnce(name)
    }
  }
  await Promise.all(probeNames.map(pace))
  return { ms, refused }
}

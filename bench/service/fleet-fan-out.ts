import { randomBytes, randomUUID } from 'node:crypto'
import { type Arm, type Bench, BenchFault, type BenchRun, type Goal } from '../harness/bench.ts'
import { runGenerator } from '../harness/generator.ts'
import type { HttpRequest } from '../harness/request.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { keyOf } from './creations.ts'
import type { RevocationCounts, RevocationPlan } from './fleet-revocations.ts'
import { replaceFile } from './fleet-trigger.ts'
import { startNginx } from './nginx.ts'
import { type Keyrail, migratedPostgres, startKeyrail } from './start.ts'
import { call, makeVendor, type Vendor } from './vendor.ts'

/** The default poll interval of nodes. Spec, policy feed. */
export const INTERVAL_MS = 5_000
/** The request of the SDK. */
const WAIT_SECONDS = 25
/**
 * Revocations in a turn, each of a different key. Polled ones come once a second, so that they hit all phases of a
 * poll.
 */
const HELD_REVOCATIONS = 5
const GENERATOR_BUSY_MAX = 0.95
/** A tenth of the time that the goal allows beyond an interval. */
const LATE_MAX_MS = 25
const DELTA = '/v1/policy/delta'

type Fleet = { nodes: number; seconds: number }

/**
 * From revoked to refused, on every node of a fleet: nodes that poll, then nodes whose requests are held. The control
 * is the same fleet polling a file of nginx, which is rewritten in place of a revocation.
 */
export function fanOut(nodes: number, { name, goals }: { name: string; goals: [Goal, ...Goal[]] }): Bench {
  return {
    name,
    title: `Revoked to refused on ${nodes.toLocaleString('en-US')} nodes that poll every 5 s, against a file of nginx's`,
    goal: goals,
    async arms(run) {
      const postgres = await run.use(migratedPostgres())
      const server = await run.use(startKeyrail(postgres))
      const vendor = await makeVendor(server.url)
      run.note('polled: from the answer of the revocation until a node has applied it')
      run.note(`held: the same with Prefer: wait=${WAIT_SECONDS}`)
      run.note(
        'server cores: CPU time of the service and of Postgres, while the polling fleet is revoked from',
      )
      return [keyrail({ nodes, server, postgres, vendor }), await file(nodes, run, vendor)]
    },
  }
}

type Ours = {
  nodes: number
  server: Keyrail
  postgres: ScratchPostgres
  vendor: Vendor
}

function keyrail({ nodes, server, postgres, vendor }: Ours): Arm {
  const authorization = { authorization: `Bearer ${vendor.token}` }
  const plan = async (count: number) => {
    const revocations = []
    for (let n = 0; n < count; n++) {
      const { id } = await call(server.url, vendor.token, '/v1/keys', keyOf(vendor))
      const request = revocationOf(String(id), authorization)
      revocations.push({ keyId: String(id), trigger: { url: server.url, request } })
    }
    const project = await call(server.url, vendor.token, `/v1/projects/${vendor.projectId}`)
    return { url: server.url, headers: authorization, version: Number(project.policy_version), revocations }
  }
  return {
    name: 'keyrail',
    role: 'subject',
    async measure({ seconds }) {
      const count = revocationsOf(seconds)
      const polled = await revoke({
        ...(await plan(count)),
        ...fleetOf(vendor, { nodes, seconds }),
        waitSeconds: null,
        pids: { server: server.pid, postgres: postgres.pid },
      })
      const { server: service = 0, postgres: store = 0 } = polled.cores
      const held = await revoke({
        ...(await plan(HELD_REVOCATIONS)),
        ...fleetOf(vendor, { nodes, seconds }),
        waitSeconds: WAIT_SECONDS,
        pids: {},
      })
      const values = {
        'polled p99 ms': polled.p99Ms,
        'polled max ms': polled.maxMs,
        'held p99 ms': held.p99Ms,
        'held max ms': held.maxMs,
        'answers of 503': polled.refused + held.refused,
        'polls/s': polled.pollsPerSecond,
        'server cores': service + store,
        'of them Postgres': store,
      }
      return { values, answer: answerOf(nodes, count), doubt: doubtOf(polled) ?? busyOf(held) }
    },
  }
}

async function file(nodes: number, run: BenchRun, vendor: Vendor): Promise<Arm> {
  const nginx = await run.use(startNginx())
  const path = nginx.fileOf(DELTA)
  return {
    name: 'file of nginx',
    role: 'control',
    async measure({ seconds }) {
      const count = revocationsOf(seconds)
      const keyIds = Array.from({ length: count }, () => randomUUID())
      // Each text holds all revocations so far, as nginx does not record what a node has. So each is longer too, and has
      // another tag, which nginx makes from size and second.
      const textAfter = (revoked: number) => deltaOf(vendor, 1 + revoked, keyIds.slice(0, revoked))
      replaceFile(path, textAfter(0))
      const polled = await revoke({
        url: nginx.url,
        headers: {},
        version: 1,
        revocations: keyIds.map((keyId, n) => ({ keyId, trigger: { file: path, text: textAfter(n + 1) } })),
        ...fleetOf(vendor, { nodes, seconds }),
        waitSeconds: null,
        pids: { server: nginx.pid },
      })
      const values = {
        'polled p99 ms': polled.p99Ms,
        'polled max ms': polled.maxMs,
        'polls/s': polled.pollsPerSecond,
        'server cores': polled.cores.server ?? 0,
      }
      return { values, answer: answerOf(nodes, count), doubt: doubtOf(polled) }
    },
  }
}

const revocationOf = (id: string, authorization: Record<string, string>): HttpRequest => ({
  method: 'POST',
  path: `/v1/keys/${id}/revoke`,
  headers: { ...authorization, 'content-type': 'application/json' },
  body: '{}',
})

/** A delta in the service's format. */
function deltaOf({ workspaceId, projectId }: Vendor, version: number, keyIds: readonly string[]): string {
  return JSON.stringify({
    object: 'policy_delta',
    workspace_id: workspaceId,
    project_id: projectId,
    env: null,
    version,
    project_deleted: false,
    generated_at: new Date().toISOString(),
    since: 1,
    changes: keyIds.map(keyId => ({
      change: 'tombstone',
      key_id: keyId,
      env: 'live',
      lookup_hash: randomBytes(32).toString('base64'),
    })),
  })
}

const revocationsOf = (seconds: number) => Math.max(2, Math.round(seconds))
const answerOf = (nodes: number, revocations: number) => ({ nodes, learned: nodes * revocations })

const fleetOf = ({ projectId }: Vendor, fleet: Fleet) => ({
  ...fleet,
  path: `${DELTA}?project_id=${projectId}&max_keys=5000`,
  intervalMs: INTERVAL_MS,
})

/** @throws BenchFault unless every node has learnt of every revocation, and of nothing else */
async function revoke(plan: RevocationPlan): Promise<RevocationCounts> {
  const script = new URL('fleet-revocations-process.ts', import.meta.url).href
  const counts = await runGenerator<RevocationPlan, RevocationCounts>(script, plan)
  const expected = plan.nodes * plan.revocations.length
  if (counts.learned === expected && counts.wrong.length === 0) return counts
  throw new BenchFault(
    `nodes learnt ${counts.learned} of ${expected} revocations, with ${counts.refused} answers of 503: ${counts.wrong.join('; ')}`,
  )
}

const busyOf = ({ generatorBusy }: RevocationCounts) =>
  generatorBusy > GENERATOR_BUSY_MAX ? 'the fleet used up its core' : undefined

/** Not for a held fleet: all of it asks again at once, and is held again long before the next revocation. */
function doubtOf(counts: RevocationCounts): string | undefined {
  return busyOf(counts) ?? (counts.lateP99Ms > LATE_MAX_MS ? 'the fleet polled late' : undefined)
}

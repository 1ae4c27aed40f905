import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Arm, BenchFault, type BenchRun, type Resource } from '../harness/bench.ts'
import { ended, tail, track } from '../harness/children.ts'
import { type CpuUsers, meterCpu } from '../harness/cpu.ts'
import { LOAD_CORE, pinned } from '../harness/pin.ts'
import { cpuSeconds } from '../harness/proc.ts'
import type { VendorPlan, VendorTurn, VendorTurnEnd } from './limited-vendor-process.ts'
import { scratchRedis } from './redis.ts'
import { migratedPostgres, startKeyrail } from './start.ts'
import { makeVendor } from './vendor.ts'

/** How requests come: as many at once as a busy process has, and at a rate at which few are there at once. */
const turns = { '64 in flight': { inFlight: 64 }, '2,000 a second': { perSecond: 2_000 } }
type TurnName = keyof typeof turns

/** A metric of these arms: the CPU of all processes for one request. */
export const cpuOf = (turn: TurnName): string => `CPU us a request, ${turn}`

/**
 * What a limit costs a vendor, in all processes that a request with a limit keeps busy: the vendor's own, the service and
 * Postgres, against the vendor's own process and Redis.
 *
 * @param keys how many keys the requests have, in turn
 */
export async function limitedVendors(run: BenchRun, keys: number): Promise<Arm[]> {
  const [postgres, redis] = [await run.use(migratedPostgres()), await run.use(scratchRedis())]
  const service = await run.use(startKeyrail(postgres))
  const { token, projectId } = await makeVendor(service.url)
  const keyIds = Array.from({ length: keys }, () => randomUUID())
  const subject = await run.use(startVendor({ keyIds, limiter: { url: service.url, token, projectId } }))
  const control = await run.use(startVendor({ keyIds, limiter: { redisUrl: redis.url } }))
  return [
    armOf('keyrail', 'subject', subject, { service, Postgres: postgres }),
    armOf('rate-limiter-flexible on Redis in the same process', 'control', control, { Redis: redis }),
  ]
}

const armOf = (name: string, role: Arm['role'], vendor: LimitedVendor, stores: CpuUsers): Arm => ({
  name,
  role,
  async measure({ seconds }) {
    const users = { vendor, ...stores }
    const values: Record<string, number> = {}
    for (const turn of Object.keys(turns) as TurnName[]) {
      const work = () => vendor.run({ ...turns[turn], seconds: seconds / 2 })
      const metered = await meterCpu(users, ['request', 'requests'], work, decided => decided)
      values[`requests, ${turn}`] = metered.result
      values[cpuOf(turn)] = metered.values['CPU us a request'] ?? Number.NaN
      for (const user of Object.keys(users))
        values[`${cpuOf(turn)}, ${user}`] = metered.values[`CPU us a request, ${user}`] ?? Number.NaN
    }
    return { values, answer: 'each allowed' }
  },
})

interface LimitedVendor extends Resource {
  cpuSeconds(): number
  /** @returns how many requests were decided. */
  run(turn: VendorTurn): Promise<number>
}

async function startVendor(plan: VendorPlan): Promise<LimitedVendor> {
  const path = join(import.meta.dirname, 'limited-vendor-process.ts')
  const { command, args } = pinned(LOAD_CORE, process.execPath, [path])
  const child = track(spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }))
  const errors = tail(child.stderr)
  const end = ended(child)
  end.catch(() => {})
  const died = end.then(({ code }) => {
    throw new BenchFault(`a vendor's process ended with ${code}: ${errors()}`)
  })
  died.catch(() => {})
  await ask(child, plan, died)
  return {
    cpuSeconds: () => cpuSeconds(child.pid ?? 0),
    async run(turn) {
      const answer = (await ask(child, turn, died)) as VendorTurnEnd
      if ('fault' in answer) throw new BenchFault(answer.fault)
      return answer.decided
    },
    async close() {
      child.kill('SIGKILL')
      await end.catch(() => {})
    },
  }
}

async function ask(child: ChildProcess, question: VendorPlan | VendorTurn, died: Promise<never>) {
  const answered = once(child, 'message')
  child.send(question)
  const [answer] = await Promise.race([answered, died])
  return answer as unknown
}

import type { Arm, Bench } from './harness/bench.ts'
import { type CpuUsers, meterCpu } from './harness/cpu.ts'
import { runGenerator } from './harness/generator.ts'
import { scratchRedis } from './service/redis.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import type { StoredCounts, StoredPlan } from './service/stored-answers-process.ts'
import { makeVendor } from './service/vendor.ts'

/** A claim and the answer of 64 kB that is stored under it, both durable, against Redis writing each to its file. */
export const bench: Bench = {
  name: 'G9',
  title: 'Claim and complete with 64 kB, against redis-server SET NX and SET with appendfsync always',
  goal: { metric: 'pairs/CPU s', direction: 'at least', floor: 0.5, moonshot: 1 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const { token } = await makeVendor(server.url)
    const redis = await run.use(scratchRedis('always'))
    const script = new URL('service/stored-answers-process.ts', import.meta.url).href
    const common = { clients: 32, bodyBytes: 64_000 }
    const arm = (
      name: string,
      role: Arm['role'],
      users: CpuUsers,
      store: { url: string; token: string } | { redisUrl: string },
    ): Arm => ({
      name,
      role,
      async measure({ seconds }) {
        const plan: StoredPlan = { ...common, seconds, ...store }
        const { result, values } = await meterCpu(
          users,
          ['pair', 'pairs'],
          () => runGenerator<StoredPlan, StoredCounts>(script, plan),
          ({ pairs }) => pairs,
        )
        return {
          values: { ...values, 'pairs/s': result.perSecond },
          doubt: result.busy > 0.95 ? 'the generator used up its core' : undefined,
        }
      },
    })
    return [
      arm('keyrail', 'subject', { service: server, Postgres: postgres }, { url: server.url, token }),
      arm('redis-server', 'control', { Redis: redis }, { redisUrl: redis.url }),
    ]
  },
}

import { closedLoop } from '../harness/load.ts'
import type { RequestSource } from '../harness/request.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { requireChains, requireRows, settledLedger } from './ledger.ts'
import { postgresCpuSeconds } from './postgres-cpu.ts'
import type { Keyrail } from './start.ts'
import type { Vendor } from './vendor.ts'

/** How many write at once, in the benches of mutations. */
export const WRITERS = 32

export type Creating = {
  perSecond: number
  /** CPU time of a request: the server's process, and all of Postgres. */
  serverUs: number
  postgresUs: number
  doubt: string | undefined
}

/** As many creations as the service will take, each held against the rows that came of it. */
export async function measureCreating(load: {
  server: Keyrail
  postgres: ScratchPostgres
  vendors: readonly Vendor[]
  requests: RequestSource
  seconds: number
  audited: boolean
}): Promise<Creating> {
  const { server, postgres, vendors, requests, seconds, audited } = load
  const before = await settledLedger(postgres, vendors)
  const serverBefore = server.cpuSeconds()
  const postgresBefore = postgresCpuSeconds(postgres.pid)
  const { answered, perSecond, doubt } = await closedLoop({
    url: server.url,
    connections: WRITERS,
    seconds,
    requests,
    expectStatus: 201,
  })
  const serverUs = ((server.cpuSeconds() - serverBefore) * 1e6) / answered
  const postgresUs = ((postgresCpuSeconds(postgres.pid) - postgresBefore) * 1e6) / answered
  const after = await settledLedger(postgres, vendors)
  requireRows(before, after, { answered, cutOff: WRITERS, audited })
  if (audited) await requireChains(server.url, vendors, after.auditRows)
  return { perSecond, serverUs, postgresUs, doubt }
}

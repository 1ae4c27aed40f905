import type { RequestSource } from '../harness/request.ts'
import { meteredLoop } from '../harness/request-arm.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { requireChains, requireRows, settledLedger } from './ledger.ts'
import type { Keyrail } from './start.ts'
import type { Vendor } from './vendor.ts'

/** How many write at once, in the benches of mutations. */
export const WRITERS = 32

export type Creating = {
  /** The rate, and the CPU time of a creation. */
  values: Record<string, number>
  doubt: string | undefined
}

/** As many creations as the service will take, compared with the rows written. */
export async function measureCreating(load: {
  server: Keyrail
  postgres: ScratchPostgres
  vendors: readonly Vendor[]
  requests: RequestSource
  seconds: number
  audited: boolean
  /** What is created. */
  unit: readonly [one: string, many: string]
}): Promise<Creating> {
  const { server, postgres, vendors, requests, seconds, audited, unit } = load
  const before = await settledLedger(postgres, vendors)
  const { answered, values, doubt } = await meteredLoop(
    { service: server, Postgres: postgres },
    { url: server.url, connections: WRITERS, seconds, requests, expectStatus: 201 },
    unit,
  )
  const after = await settledLedger(postgres, vendors)
  requireRows(before, after, { answered, cutOff: WRITERS, audited })
  if (audited) await requireChains(server.url, vendors, after.auditRows)
  return { values, doubt }
}

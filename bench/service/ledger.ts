import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFault } from '../harness/bench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { call, type Vendor } from './vendor.ts'

/** What the workspaces of an arm contain. */
export type Ledger = {
  /** Keys and tenants; one 201 has returned each. */
  created: number
  auditRows: number
  /** The sum of the positions of the chains' heads. */
  headSeqs: number
}

const LOOK_EVERY_MS = 50

/** Reads it in one snapshot, once the requests cut off by the end of a load have ended. */
export async function settledLedger(postgres: ScratchPostgres, vendors: readonly Vendor[]): Promise<Ledger> {
  let before = await ledgerOf(postgres, vendors)
  for (;;) {
    await sleep(LOOK_EVERY_MS)
    const after = await ledgerOf(postgres, vendors)
    if (after.created === before.created) return after
    before = after
  }
}

async function ledgerOf({ query }: ScratchPostgres, vendors: readonly Vendor[]): Promise<Ledger> {
  const count = (table: string) => `(select count(*) from ${table} where workspace_id = any($1::uuid[]))::int`
  const [row] = await query(
    `select ${count('api_keys')} + ${count('tenants')} as created, ${count('audit_logs')} as "auditRows",
       (select sum(seq) from audit_heads where workspace_id = any($1::uuid[]))::int as "headSeqs"`,
    [vendors.map(vendor => vendor.workspaceId)],
  )
  return row as Ledger
}

/**
 * Compares the rows with the answers: each 201 has its row, and beyond those at most one row per connection that was
 * cut off with a request under way. With audit, each row has its audit row; without, none.
 *
 * @throws BenchFault naming the figures that do not match
 */
export function requireRows(
  before: Ledger,
  after: Ledger,
  { answered, cutOff, audited }: { answered: number; cutOff: number; audited: boolean },
): void {
  const created = after.created - before.created
  const auditRows = after.auditRows - before.auditRows
  const heads = after.headSeqs - before.headSeqs
  const expected = audited ? created : 0
  if (created >= answered && created <= answered + cutOff && auditRows === expected && heads === expected)
    return
  throw new BenchFault(
    `${answered} answers of 201, at most ${cutOff} cut off, but ${created} rows, ${auditRows} audit rows, ` +
      `heads moved by ${heads} (audit ${audited ? 'on' : 'off'})`,
  )
}

/** Lets the service verify each chain, one at a time, as it accepts only two. */
export async function requireChains(
  url: string,
  vendors: readonly Vendor[],
  auditRows: number,
): Promise<void> {
  let checked = 0
  for (const { token, workspaceId } of vendors) {
    const chain = await call(url, token, '/v1/audit_logs/chain')
    if (chain.valid !== true) throw new BenchFault(`${workspaceId}: ${JSON.stringify(chain)}`)
    checked += Number(chain.checked)
  }
  if (checked !== auditRows) throw new BenchFault(`${checked} audit rows verified of ${auditRows}`)
}

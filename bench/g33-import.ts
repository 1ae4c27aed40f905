import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { meterCpu } from './harness/cpu.ts'
import { meteredLoop } from './harness/request-arm.ts'
import { openRowFiles } from './service/imported-rows.ts'
import { importOf, keyImports, ROWS } from './service/imports.ts'
import { requireChains, settledLedger } from './service/ledger.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor, type Vendor } from './service/vendor.ts'

/**
 * An import of keys by the API, a thousand in a call, against Postgres that copies the same rows, audit rows among them, from files
 * into the same tables with their indexes.
 */

/** In each workspace: a tenant may have 10,000 active keys. */
const TENANTS = 100
/** Of the files. */
const COPIED_IMPORTS = 10
const unit = ['key', 'keys'] as const

export const bench: Bench = {
  name: 'G33',
  title: 'Import of keys, 1,000 in a call, against COPY of the same rows into the same tables',
  goal: { metric: 'keys/CPU s', direction: 'at least', floor: 0.3, moonshot: 0.5 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const [vendor, other] = await Promise.all([
      makeVendor(server.url, { tenants: TENANTS }),
      makeVendor(server.url, { tenants: TENANTS }),
    ])
    for (let n = 0; n < COPIED_IMPORTS; n++) await importOnce(server.url, other, n)
    const files = await run.use(openRowFiles(postgres, other))
    if (files.keys !== COPIED_IMPORTS * ROWS) throw new BenchFault(`the files have ${files.keys} keys`)

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        const before = await settledLedger(postgres, [vendor])
        const { answered, values, doubt } = await meteredLoop(
          { service: server, Postgres: postgres },
          { url: server.url, connections: 1, seconds, requests: keyImports(vendor) },
          unit,
          ROWS,
        )
        const after = await settledLedger(postgres, [vendor])
        const created = after.created - before.created
        // The last import may be cut off before its answer.
        const isRight = created === answered * ROWS || created === (answered + 1) * ROWS
        if (!isRight || after.auditRows - before.auditRows !== created)
          throw new BenchFault(`${answered} imports answered, but ${created} keys are there`)
        await requireChains(server.url, [vendor], after.auditRows)
        return { values, doubt }
      },
    }
    const control: Arm = {
      name: 'COPY',
      role: 'control',
      async measure({ seconds }) {
        let keys = 0
        const deadline = performance.now() + seconds * 1_000
        let spent = 0
        do {
          await files.renew()
          const { values } = await meterCpu(
            { Postgres: postgres },
            unit,
            () => files.copy(),
            () => files.keys,
          )
          keys += files.keys
          spent += (files.keys * (values['CPU us a key'] ?? 0)) / 1e6
        } while (performance.now() < deadline)
        return { values: { 'keys/CPU s': keys / spent, 'CPU us a key': (spent * 1e6) / keys } }
      },
    }
    return [ours, control]
  },
}

async function importOnce(url: string, vendor: Vendor, n: number): Promise<void> {
  const { created } = await call(url, vendor.token, '/v1/keys/import', importOf(vendor, `copied-${n}`))
  if (created !== ROWS) throw new BenchFault(`an import has made ${created} keys, not ${ROWS}`)
}

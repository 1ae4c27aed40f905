import { createPublicKey, sign, verify } from 'node:crypto'
import { codehost, codehostKeysFile } from '../packages/server/test/codehost.ts'
import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { meterCpu } from './harness/cpu.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { median } from './harness/statistics.ts'
import { deliver, makeKeys, makeOwner } from './service/leaks.ts'
import { prepareRowRevocations } from './service/row-revocations.ts'
import { type Keyrail, migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor, type Vendor } from './service/vendor.ts'

/**
 * A report of a hundred leaked keys: verified, looked up, and each key revoked in its own transaction with its audit
 * row and its policy version; then a letter to each workspace is queued. The control commits rows of the same width, a
 * transaction a key, by pgbench: the revoked key, the version with its change, and the audit row; and verifies one
 * signature a report.
 */
const TOKENS = 100
const WORKSPACES = 16
/** Reports of a turn, for each of its seconds: a turn of ten seconds revokes 8,000 keys. */
const REPORTS_PER_SECOND = 8
const KEY = ['key', 'keys'] as const

export const bench: Bench = {
  name: 'G21',
  title: 'A report of 100 leaked keys, against 100 commits of rows of the same width and one verification',
  goal: { metric: 'CPU us a key', direction: 'at most', floor: 2, moonshot: 1.2 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(
      startKeyrail(postgres, { env: { SERVICE_CODEHOST_KEYS_FILE: codehostKeysFile } }),
    )
    const vendors: Vendor[] = []
    for (let n = 0; n < WORKSPACES; n++) {
      const vendor = await makeVendor(server.url)
      await makeOwner(postgres, vendor)
      vendors.push(vendor)
    }
    run.note(`control: pgbench, ${WORKSPACES} clients, each with a workspace, one flight a transaction`)
    return [
      reporting('keyrail', 'subject', server, postgres, vendors),
      await commits(postgres),
      reporting('keyrail, of one workspace', 'peer', server, postgres, vendors.slice(0, 1)),
    ]
  },
}

const reportsOf = (seconds: number) => Math.ceil(seconds * REPORTS_PER_SECOND)

function reporting(
  name: string,
  role: Arm['role'],
  server: Keyrail,
  postgres: ScratchPostgres,
  vendors: readonly Vendor[],
): Arm {
  return {
    name,
    role,
    async measure({ seconds }) {
      const before = await revokedIn(postgres)
      const reports: string[][] = []
      while (reports.length < reportsOf(seconds)) reports.push(await makeKeys(postgres, vendors, TOKENS))
      const times: number[] = []
      const { values } = await meterCpu(
        { service: server, Postgres: postgres },
        KEY,
        async () => {
          for (const tokens of reports) times.push(await deliver(server.url, tokens))
        },
        () => reports.length * TOKENS,
      )
      const rows = (await revokedIn(postgres)) - before
      if (rows !== reports.length * TOKENS)
        throw new BenchFault(`${reports.length} reports of ${TOKENS} left ${rows} audit rows`)
      return { values: { ...values, 'ms a report': median(times) } }
    },
  }
}

async function commits(postgres: ScratchPostgres): Promise<Arm> {
  const control = await prepareRowRevocations(postgres, WORKSPACES, PAYLOAD)
  const body = Buffer.alloc(TOKENS * 150, 'x')
  const signature = sign('sha256', body, codehost.privateKey)
  const key = createPublicKey(codehost.listed.key)
  let verifySeconds = 0
  const verifyOnce = () => {
    const before = process.cpuUsage()
    if (!verify('sha256', body, key, signature)) throw new BenchFault('the signature does not verify')
    const { user, system } = process.cpuUsage(before)
    verifySeconds += (user + system) / 1e6
  }
  return {
    name: 'one verification, 100 commits',
    role: 'control',
    async measure({ seconds }) {
      const reports = reportsOf(seconds)
      const each = Math.ceil((reports * TOKENS) / WORKSPACES)
      await control.prepare(each)
      const { result, values } = await meterCpu(
        { service: { cpuSeconds: () => verifySeconds }, Postgres: postgres },
        KEY,
        async () => {
          for (let n = 0; n < reports; n++) verifyOnce()
          return await control.revoke()
        },
        () => each * WORKSPACES,
      )
      return { values: { ...values, 'ms a report': (result * TOKENS) / (each * WORKSPACES) } }
    },
  }
}

/** As long as the service's. */
const PAYLOAD = JSON.stringify({
  reason: 'leaked',
  source: 'commit',
  url: 'https://codehost.example/bench',
})

const revokedIn = async ({ query }: ScratchPostgres): Promise<number> =>
  Number((await query(`select count(*) as rows from audit_logs where action = 'api_key.revoked'`))[0]?.rows)

import { createPublicKey, sign, verify } from 'node:crypto'
import { codehost, codehostKeysFile } from '../packages/server/test/codehost.ts'
import { type Arm, type Bench, BenchFault, type BenchRun } from './harness/bench.ts'
import { runPgbench } from './harness/pgbench.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { median } from './harness/statistics.ts'
import { deliver, makeKeys, makeOwner } from './service/leaks.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor, type Vendor } from './service/vendor.ts'

/**
 * A report of a hundred leaked keys: verified, looked up, and each revoked in a transaction of its own with its audit
 * row, its version of the policy and its mail. Against what it cannot do without: one verification, and as many commits
 * of one UPDATE each by pgbench, one behind the other.
 */
const TOKENS = 100
const WORKSPACES = 16
/** Of a turn at least; more as long as its time lasts. */
const REPORTS_MIN = 3

export const bench: Bench = {
  name: 'G21',
  title: 'A report of 100 leaked keys, against one ECDSA verification and 100 commits of one UPDATE',
  goal: { metric: 'ms', direction: 'at most', floor: 2, moonshot: 1.2 },
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
    return [
      reporting('keyrail', 'subject', server.url, postgres, vendors),
      await commits(run, postgres),
      reporting('keyrail, of one workspace', 'peer', server.url, postgres, vendors.slice(0, 1)),
    ]
  },
}

function reporting(
  name: string,
  role: Arm['role'],
  url: string,
  postgres: ScratchPostgres,
  vendors: readonly Vendor[],
): Arm {
  return {
    name,
    role,
    async measure({ seconds }) {
      const before = await revokedIn(postgres)
      const times: number[] = []
      for (let spent = 0; times.length < REPORTS_MIN || spent < seconds * 1_000; ) {
        const ms = await deliver(url, await makeKeys(postgres, vendors, TOKENS))
        times.push(ms)
        spent += ms
      }
      const rows = (await revokedIn(postgres)) - before
      if (rows !== times.length * TOKENS)
        throw new BenchFault(`${times.length} reports of ${TOKENS} left ${rows} audit rows`)
      return median(times)
    },
  }
}

async function commits(run: BenchRun, postgres: ScratchPostgres): Promise<Arm> {
  await postgres.query(
    'create table bench_rows (id int primary key, at timestamptz); insert into bench_rows select generate_series(1, 100000)',
  )
  const body = Buffer.alloc(TOKENS * 150, 'x')
  const signature = sign('sha256', body, codehost.privateKey)
  const key = createPublicKey(codehost.listed.key)
  run.note(`control: pgbench with one client, and a verification over ${body.length} bytes`)
  return {
    name: 'one verification, 100 commits',
    role: 'control',
    async measure({ seconds }) {
      const started = performance.now()
      if (!verify('sha256', body, key, signature)) throw new BenchFault('the signature does not verify')
      const verifyMs = performance.now() - started
      const { tps } = await runPgbench({
        connection: postgres.connection,
        script: '\\set id random(1, 100000)\nupdate bench_rows set at = now() where id = :id;',
        clients: 1,
        seconds,
      })
      return verifyMs + (TOKENS / tps) * 1_000
    },
  }
}

const revokedIn = async ({ query }: ScratchPostgres): Promise<number> =>
  Number((await query(`select count(*) as rows from audit_logs where action = 'api_key.revoked'`))[0]?.rows)

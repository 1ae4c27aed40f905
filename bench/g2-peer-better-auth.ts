import type { Bench } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { SERVER_CORE } from './harness/pin.ts'
import { betterAuthDatabase } from './service/better-auth.ts'
import type { BetterAuthPlan } from './service/better-auth-process.ts'
import { issueKeys } from './service/issue-keys.ts'
import type { KeyringPlan, VerifyingCounts } from './service/keyring-process.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * Verifying in a vendor's own process, each side as its documentation sets it up. Ours holds the keys in memory,
 * follows the service, and reports usage to it. better-auth's plugin reads the key from its database and writes its
 * last use, each time; its limits are off, as ours checks none in process, and it has the number of concurrent
 * verifications that is fastest for it. One Postgres serves both, on the core of the vendor's process.
 */

const KEYS = 10_000
const OWNERS = 10
const IN_FLIGHT = [1, 8, 16, 32]

export const bench: Bench = {
  name: 'G2',
  title: 'Verifying one of 10,000 keys in memory, against better-auth’s API-key plugin on the same Postgres',
  goal: { metric: 'verifications/s', direction: 'at least', floor: 300, moonshot: 1_000 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url, { tenants: OWNERS })
    const { token, projectId } = vendor
    const keyring = { url: server.url, token, projectId, keys: await issueKeys(server.url, vendor, KEYS) }
    const { databaseUrl, keys } = await betterAuthDatabase(postgres, { count: KEYS, owners: OWNERS })
    const peer = (inFlight: number, seconds: number) =>
      runGenerator<BetterAuthPlan, VerifyingCounts>(
        new URL('service/better-auth-process.ts', import.meta.url).href,
        { databaseUrl, inFlight, keys, seconds },
        SERVER_CORE,
      )
    const tried: { inFlight: number; perSecond: number }[] = []
    for (const inFlight of IN_FLIGHT) {
      tried.push({ inFlight, perSecond: (await peer(inFlight, run.quick ? 1 : 5)).perSecond })
    }
    const { inFlight } = tried.reduce((best, one) => (one.perSecond > best.perSecond ? one : best))
    run.note(
      `${KEYS} keys of ${OWNERS} owners in random order, half of them with an expiry; one scope asked for`,
    )
    run.note(
      `better-auth has ${inFlight} in flight: ${tried
        .map(one => `${Math.round(one.perSecond)}/s with ${one.inFlight}`)
        .join(', ')}`,
    )
    return [
      {
        name: 'keyring.verify',
        role: 'subject',
        async measure({ seconds }) {
          const { perSecond, answer } = await runGenerator<KeyringPlan, VerifyingCounts>(
            new URL('service/keyring-process.ts', import.meta.url).href,
            { ...keyring, seconds },
            SERVER_CORE,
          )
          return { values: { 'verifications/s': perSecond }, answer }
        },
      },
      {
        name: 'better-auth',
        role: 'control',
        async measure({ seconds }) {
          const { perSecond, answer } = await peer(inFlight, seconds)
          return { values: { 'verifications/s': perSecond }, answer }
        },
      },
    ]
  },
}

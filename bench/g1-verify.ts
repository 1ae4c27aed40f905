import type { Arm, Bench } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { SERVER_CORE } from './harness/pin.ts'
import type { VerifyCounts, VerifyPlan } from './service/verify-process.ts'

/**
 * Verifying a key in a vendor's process against the least that it can cost: the SHA-256 of the same text, by Node's
 * fastest call. Verification adds form and checksum, look-up, environment, expiry, staleness, scopes, and the verdict
 * with the key's tenant.
 */

const KEYS = 100_000
const RANGES = 'keyring.verify, eight ranges'

export const bench: Bench = {
  name: 'G1',
  title: 'Verifying one of 100,000 keys in memory against the lone hash of it',
  goal: [
    { metric: 'ns', direction: 'at most', floor: 2, moonshot: 1.5 },
    // Networks cost at most 15 % more.
    { metric: 'ns', direction: 'at least', floor: 0.87, moonshot: null, against: RANGES },
  ],
  async arms(run) {
    const script = new URL('service/verify-process.ts', import.meta.url).href
    const arm = (name: string, role: Arm['role'], work: VerifyPlan['work']): Arm => ({
      name,
      role,
      async measure({ seconds }) {
        const plan = { work, keys: KEYS, seconds }
        const { ns, answer } = await runGenerator<VerifyPlan, VerifyCounts>(script, plan, SERVER_CORE)
        return { values: { ns }, answer }
      },
    })
    run.note(
      `${KEYS} keys of 1,000 tenants in random order, every second one with an expiry; one scope asked for`,
    )
    run.note(
      'the third arm restricts each key to eight ranges, of which the last one has the address of the caller',
    )
    return [
      arm('keyring.verify', 'subject', 'verify'),
      arm('crypto.hash', 'control', 'hash'),
      arm(RANGES, 'peer', 'networks'),
    ]
  },
}

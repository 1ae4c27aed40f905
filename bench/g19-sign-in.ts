import { setTimeout as sleep } from 'node:timers/promises'
import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { meterCpu } from './harness/cpu.ts'
import { runGenerator } from './harness/generator.ts'
import { closedLoop, type Load, openLoop } from './harness/load.ts'
import { SERVER_CORE } from './harness/pin.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { rateLimitChecks } from './service/checks.ts'
import { makePeople, type People, settledSessions, signIns } from './service/people.ts'
import type { RawArgon2Counts, RawArgon2Plan } from './service/raw-argon2-process.ts'
import { type Keyrail, migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * Signing in with the right password, against the library verifying the same hash alone. And the effect on a vendor's
 * customers: rate-limit checks at a fixed rate, with and without more sign-ins than the service can hash.
 */

/** One more than the cores, so that one always waits; fewer than the service's waiting places. */
const CLIENTS = 32
const SIGN_IN = ['sign-in', 'sign-ins'] as const
/** So many that two clients rarely sign in to the same account. */
const ACCOUNTS = 1_000
const CONNECTIONS = 64
/** Share of the rate that the service takes during a flood of sign-ins: latency is measured at this rate. */
const SHARE = 0.7
/** Sign-ins before the first check and after the last: a generator takes half a second to start and to end. */
const LEAD_SECONDS = 1

export const bench: Bench = {
  name: 'G19',
  title: 'Signing in against argon2 alone, and rate-limit checks while sign-ins flood the service',
  goal: [
    { metric: 'sign-ins/CPU s', direction: 'at least', floor: 0.85, moonshot: 0.95 },
    { metric: 'checks p99 ms', direction: 'at most', floor: 1.5, moonshot: 1.25 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const checks: Checks = {
      url: server.url,
      connections: CONNECTIONS,
      requests: rateLimitChecks(await makeVendor(server.url), 1),
      expectBody: '"allowed":true',
    }
    const people = await makePeople(server.url, postgres, ACCOUNTS)
    const signInFor = signingIn(server, postgres, people)

    const calibrating = run.quick ? 1 : 5
    const most = await flooded(signInFor, calibrating, () => closedLoop({ ...checks, seconds: calibrating }))
    const perSecond = Math.floor(most.perSecond * SHARE)
    run.note(`p99: at ${perSecond} checks/s, ${SHARE * 100} % of keyrail's rate under the flood before`)
    run.note(`${CLIENTS} clients sign in to ${ACCOUNTS} accounts`)
    return [ours(signInFor, checks, perSecond), control(people, checks, perSecond)]
  },
}

/** The load of rate-limit checks, but for its time. */
type Checks = Omit<Load, 'seconds'>
type SignInFor = ReturnType<typeof signingIn>

/** Each opens a session. When what this returns has ended, every sign-in has ended. */
function signingIn(server: Keyrail, postgres: ScratchPostgres, people: People) {
  const requests = signIns(people)
  return async (seconds: number) => {
    const before = await settledSessions(postgres)
    const { result, values } = await meterCpu(
      { service: server, Postgres: postgres },
      SIGN_IN,
      async () => {
        const load = await closedLoop({
          url: server.url,
          connections: CLIENTS,
          seconds,
          requests,
          expectStatus: 201,
          expectBody: '"token":"krses_',
        })
        return { load, opened: (await settledSessions(postgres)) - before }
      },
      // Those cut off by the end are counted: they went on to their session.
      ({ opened }) => opened,
    )
    const { load, opened } = result
    if (opened < load.answered || opened > load.answered + CLIENTS)
      throw new BenchFault(`${load.answered} sign-ins were answered, ${opened} sessions were opened`)
    return { ...load, values }
  }
}

/** Keeps signing in while something else is measured. */
async function flooded<T>(signInFor: SignInFor, seconds: number, work: () => Promise<T>): Promise<T> {
  const flood = signInFor(seconds + 2 * LEAD_SECONDS)
  const led = sleep(LEAD_SECONDS * 1_000).then(work)
  const [result] = await Promise.all([led, flood])
  return result
}

const ours = (signInFor: SignInFor, checks: Checks, perSecond: number): Arm => ({
  name: 'keyrail',
  role: 'subject',
  async measure({ seconds }) {
    const signedIn = await signInFor(seconds)
    const open = await flooded(signInFor, seconds, () => openLoop({ ...checks, seconds, perSecond }))
    return {
      values: {
        ...signedIn.values,
        'sign-ins/s': signedIn.perSecond,
        'checks p99 ms': open.p99Ms,
        'checks p50 ms': open.p50Ms,
      },
      answer: { checks: open.answered },
      doubt: signedIn.doubt ?? open.doubt,
    }
  },
})

const control = (people: People, checks: Checks, perSecond: number): Arm => ({
  name: 'argon2 alone, no flood',
  role: 'control',
  async measure({ seconds }) {
    const script = new URL('service/raw-argon2-process.ts', import.meta.url).href
    const plan = { hash: people.hash, password: people.password, seconds }
    const raw = await runGenerator<RawArgon2Plan, RawArgon2Counts>(script, plan, SERVER_CORE)
    const open = await openLoop({ ...checks, seconds, perSecond })
    return {
      values: {
        'sign-ins/CPU s': raw.verified / raw.cpuSeconds,
        'CPU us a sign-in': (raw.cpuSeconds * 1e6) / raw.verified,
        'CPU us a sign-in, service': (raw.cpuSeconds * 1e6) / raw.verified,
        'sign-ins/s': raw.perSecond,
        'checks p99 ms': open.p99Ms,
        'checks p50 ms': open.p50Ms,
      },
      answer: { checks: open.answered },
      doubt: open.doubt,
    }
  },
})

import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { SERVER_CORE } from './harness/pin.ts'
import type { RequestSource } from './harness/request.ts'
import { meteredLoop } from './harness/request-arm.ts'
import { answerTo, startEcho } from './service/echo.ts'
import { mintTokens, openMint, sessionRequests } from './service/embed-tokens.ts'
import type { RawEs256Counts, RawEs256Plan } from './service/raw-es256-process.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * A request of the embed plane: its token is verified, and all rows that it depends on are read again. The control is
 * the work that cannot be left out: one ES256 verification alone, and a bare Fastify that returns the same bytes to any
 * client. Their times are added.
 */
const CONNECTIONS = 64
/** So many that the service has forgotten each when it comes again: it remembers a signature for a second. */
const FRESH = 20_000
/** So few that each comes again within a second, like the calls of one widget. */
const REPEATED = 200
const ORIGIN = 'https://app.example.com'
const PATH = '/v1/embed/session'

export const bench: Bench = {
  name: 'G20',
  title: 'An embed request, against the sum of a lone ES256 verification and a bare Fastify request',
  goal: [
    { metric: 'CPU us a fresh token', direction: 'at most', floor: 1.5, moonshot: 1.15 },
    { metric: 'CPU us a token seen before', direction: 'at most', floor: 1.5, moonshot: 1 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    await postgres.query(`update workspaces set embed_origins = array['${ORIGIN}']`)
    const mint = openMint(postgres, `http://localhost:${new URL(server.url).port}`)
    const [first] = await mintTokens(mint, vendor, 1)
    const headers = { authorization: `Bearer ${first}`, origin: ORIGIN }
    const answer = await answerTo(server.url, { path: PATH, headers })
    if (!answer.includes('"object":"embed_session"')) throw new BenchFault(`the session answered ${answer}`)
    const echo = await startEcho(run, answer)
    const { keys } = await mint.published()
    run.note(`fresh: ${FRESH} tokens in turn; seen before: ${REPEATED}.`)

    const loadOf = (url: string, requests: RequestSource, seconds: number) => {
      return { url, connections: CONNECTIONS, seconds, requests, expectBody: '"object":"embed_session"' }
    }
    const users = { service: server, Postgres: postgres }
    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        const fresh = await mintTokens(mint, vendor, FRESH)
        const fewer = fresh.slice(0, REPEATED)
        const one = await meteredLoop(
          users,
          loadOf(server.url, sessionRequests(fresh, ORIGIN, PATH), seconds),
          ['fresh token', 'fresh tokens'],
        )
        const two = await meteredLoop(
          users,
          loadOf(server.url, sessionRequests(fewer, ORIGIN, PATH), seconds),
          ['token seen before', 'tokens seen before'],
        )
        return {
          values: { ...one.values, ...two.values },
          answer: 'each a session',
          doubt: one.doubt ?? two.doubt,
        }
      },
    }
    const control: Arm = {
      name: 'ES256 + bare Fastify',
      role: 'control',
      async measure({ seconds }) {
        const tokens = await mintTokens(mint, vendor, REPEATED)
        const bare = await meteredLoop(
          { service: echo },
          loadOf(echo.url, sessionRequests(tokens, ORIGIN, '/echo'), seconds),
        )
        const script = new URL('service/raw-es256-process.ts', import.meta.url).href
        const plan = { jwk: keys[0] as RawEs256Plan['jwk'], tokens, seconds }
        const raw = await runGenerator<RawEs256Plan, RawEs256Counts>(script, plan, SERVER_CORE)
        const cpuUs = Number(bare.values['CPU us a request']) + (raw.cpuSeconds * 1e6) / raw.verified
        const perSecond = 1 / (1 / bare.perSecond + 1 / raw.perSecond)
        return {
          values: {
            'CPU us a fresh token': cpuUs,
            'CPU us a token seen before': cpuUs,
            'fresh tokens/s': perSecond,
            'tokens seen before/s': perSecond,
          },
          answer: 'each a session',
          doubt: bare.doubt,
        }
      },
    }
    return [ours, control]
  },
}

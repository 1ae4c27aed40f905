import type { Keyring } from '../src/keyring/keyring.ts'
import type { Valid } from '../src/verify/verdict.ts'
import type { embedHandler, WithKeyOptions } from '../src/web.ts'
import type { BuildEmbed } from './embed-suite.ts'
import { serveFetch } from './fetch-server.ts'
import type { BuildGate } from './gate-suite.ts'
import type { BuildApi } from './protected-api.ts'

/** The APIs of the suites, made of handlers of the Fetch API on a real server. */

/** Wraps a handler, like each entry for the Fetch API. */
type WithKey = (
  keyring: Pick<Keyring, 'verify'>,
  handler: (request: Request, keyed: { apiKey: Valid }) => Response | Promise<Response>,
  options: WithKeyOptions,
) => (request: Request, context: object) => Promise<Response>

const serve = (routes: Record<string, ReturnType<WithKey>>): Promise<string> =>
  serveFetch(async request => {
    const route = routes[new URL(request.url).pathname]
    return route ? route(request, { params: Promise.resolve({}) }) : new Response(null, { status: 404 })
  })

export const apiOf =
  (withKey: WithKey): BuildApi =>
  async ({ keyring, limiter, idempotency, usage, work }) => {
    const options = { limiter, idempotency, usage }
    return serve({
      '/orders': withKey(keyring, (_, { apiKey }) => Response.json({ tenantId: apiKey.tenantId }), options),
      '/write': withKey(keyring, () => new Response('wrote'), {
        ...options,
        scopes: ['orders:write'],
        cost: 2,
      }),
      '/payments': withKey(
        keyring,
        async request => {
          const done = await work(await request.json())
          return Response.json(done, { status: 201, headers: { location: `/payments/${done.calls}` } })
        },
        options,
      ),
      '/broken': withKey(
        keyring,
        async request => {
          await work(await request.json())
          throw new Error('broken')
        },
        options,
      ),
      '/large': withKey(
        keyring,
        async request => {
          await work(await request.json())
          return new Response('x'.repeat(2_000))
        },
        options,
      ),
    })
  }

export const gateOf =
  (withKey: WithKey): BuildGate =>
  async ({ keyring, idempotency, options }) => {
    const answer = (_: Request, { apiKey }: { apiKey?: Valid | undefined }) =>
      Response.json({ keyId: apiKey?.keyId ?? null })
    return serve({
      '/plain': withKey(keyring, answer, options),
      '/scoped': withKey(keyring, answer, { ...options, scopes: ['admin'] }),
      '/once': withKey(keyring, answer, { ...options, idempotency }),
    })
  }

export const embedOf =
  (make: typeof embedHandler): BuildEmbed =>
  async ({ embed, customerOf, options }) =>
    serve({ '/token': make(embed, ({ headers }) => customerOf(headers.get('x-session')), options) })

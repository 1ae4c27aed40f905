import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ask, type Heard } from '../packages/guard/test/stage.ts'
import { root } from '../packages/server/test/installation.ts'

/** Callers that do what Traefik's ForwardAuth and Envoy's ext_authz over HTTP are documented to do, by the shipped files. */

/** A request of a client, with lists of header names in lower case. */
interface ClientRequest {
  method: string
  uri: string
  /** Of its connection. */
  address?: string
  headers: Record<string, string>
}

/** What the API gets, or the answer that the client gets in its place. */
type Outcome = { upstream: Record<string, string>; client: Record<string, string> } | { refused: Heard }

/** @param guard its address */
export type Caller = (guard: string, request: ClientRequest) => Promise<Outcome>

const read = (name: string): ReturnType<typeof JSON.parse> =>
  parse(readFileSync(join(root, 'deploy/guard', name), 'utf8'))

const lower = (names: readonly string[]): string[] => names.map(name => name.toLowerCase())
const only = (headers: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.filter(name => headers[name] !== undefined).map(name => [name, String(headers[name])]),
  )

/**
 * Traefik: a GET of the address with the listed headers and its own `X-Forwarded-*`. A status of 2xx passes, and each header of
 * `authResponseHeaders` is deleted from the request, then set if the answer has it. Any other answer goes to the client as it is.
 */
export const callAsTraefik: Caller = async (guard, { method, uri, address: peer = '192.0.2.1', headers }) => {
  const { middlewares } = read('traefik.yaml').http
  const { address, trustForwardHeader, authRequestHeaders, authResponseHeaders } =
    middlewares['keyrail-orders-read'].forwardAuth
  if (trustForwardHeader !== false) throw new Error('a client could forge X-Forwarded-*')
  const stripped = lower(Object.keys(middlewares['keyrail-strip'].headers.customRequestHeaders))
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !stripped.includes(name)))
  const { pathname, search } = new URL(address)
  const answer = await ask(guard, pathname + search, {
    headers: {
      ...only(kept, lower(authRequestHeaders)),
      'x-forwarded-method': method,
      'x-forwarded-uri': uri,
      'x-forwarded-for': peer,
    },
  })
  if (answer.status < 200 || answer.status > 299) return { refused: answer }
  const replaced = lower(authResponseHeaders)
  const others = Object.entries(kept).filter(([name]) => !replaced.includes(name))
  return { upstream: { ...Object.fromEntries(others), ...only(answer.headers, replaced) }, client: {} }
}

/**
 * Envoy: first the filter that writes the address of the client over a header; then the method, path and query of the request behind `path_prefix`, with the allowed headers and an empty body. Only 200
 * passes; its allowed headers replace those of the request. A 5xx is an error, for which `failure_mode_allow` decides.
 */
export const callAsEnvoy: Caller = async (guard, { method, uri, address = '192.0.2.1', headers }) => {
  const [{ filter_chains: chains }] = read('envoy.yaml').static_resources.listeners
  const { typed_config: manager } = chains[0].filters[0]
  const [mutation, authorization] = manager.http_filters
  if (authorization.name !== 'envoy.filters.http.ext_authz') throw new Error('the filters have another order')
  const { typed_config: filter } = authorization
  const [{ append }] = mutation.typed_config.mutations.request_mutations
  if (append.append_action !== 'OVERWRITE_IF_EXISTS_OR_ADD')
    throw new Error('a client could forge its address')
  const namesOf = (list: { patterns: { exact: string }[] }) => list.patterns.map(({ exact }) => exact)
  const { path_prefix: prefix, authorization_response: response } = filter.http_service
  if (manager.common_http_protocol_options.headers_with_underscores_action !== 'DROP_HEADER')
    throw new Error('a client could forge a header for programs behind CGI')
  // Without `DIRECT_`, Envoy takes the last entry of X-Forwarded-For, unless it is told to use the address of the connection.
  if (append.header.value !== '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%')
    throw new Error('a client could choose its address')
  const kept = {
    ...Object.fromEntries(Object.entries(headers).filter(([name]) => !name.includes('_'))),
    [append.header.key]: address,
  }
  const allowed = only(kept, [...namesOf(filter.allowed_headers), 'authorization'])
  const answer = await ask(guard, prefix + uri, { method, headers: { ...allowed, 'content-length': '0' } })
  if (answer.status === 200) {
    const replaced = only(answer.headers, namesOf(response.allowed_upstream_headers))
    const client = only(answer.headers, namesOf(response.allowed_client_headers_on_success))
    return { upstream: { ...kept, ...replaced }, client }
  }
  if (filter.failure_mode_allow !== false) throw new Error('an absent guard would let requests pass')
  return { refused: { ...answer, headers: only(answer.headers, namesOf(response.allowed_client_headers)) } }
}

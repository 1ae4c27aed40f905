import type { IncomingMessage } from 'node:http'
import type { Admission, HttpAnswer, RequestGate } from '@keyrail/sdk'
import { bareAddress } from './address.ts'
import { COST_MAX, type Demands, routeOf, SCOPES_MAX } from './demands.ts'
import { invalid, problem } from './problem.ts'

/** `POST /verify`: a verdict as JSON, with 200 whatever it is. */

const BODY_BYTES_MAX = 65_536
/** What `POST /v1/keys/verify` takes, the key in code points: `packages/contract/src/verify.ts`. */
const KEY_LENGTH_MAX = 16_384
const IP_LENGTH_MAX = 64
const SCOPE_LENGTH_MAX = 256

interface Call extends Demands {
  key: string
  ip: string | undefined
}

/** @param charges whether limits are charged at all */
export async function answerVerify(
  gate: RequestGate,
  request: IncomingMessage,
  charges: boolean,
): Promise<HttpAnswer> {
  const body = await readBody(request)
  if (body === undefined)
    return problem(413, 'body_too_large', `The body has more than ${BODY_BYTES_MAX} bytes`)
  const call = readCall(body)
  if ('status' in call) return call
  const admission = await gate.admit({ rawHeaders: [], key: call.key, ip: call.ip }, routeOf(call, charges))
  const { refusal } = admission
  // Nothing was judged: the guard is misconfigured, and its log says how.
  if (refusal !== undefined && refusal.status === 500) return refusal
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: verdictOf(admission),
  }
}

/** Names as the API of the service has them. */
function verdictOf({ key, refusal, headers, limits = [] }: Admission): object {
  const problemBody = refusal?.body as { code: string; detail: string } | undefined
  return {
    valid: refusal === undefined,
    code: problemBody?.code ?? 'valid',
    ...(problemBody && { message: problemBody.detail }),
    key:
      key === undefined
        ? null
        : {
            id: key.keyId,
            tenant_id: key.tenantId,
            external_id: key.externalId ?? null,
            env: key.env,
            scopes: key.scopes,
            meta: key.meta ?? null,
            expires_at: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
          },
    limits: limits.map(({ id, remaining, resetMs }) => ({ id, remaining, reset_ms: resetMs })),
    headers: refusal === undefined ? headers : limitHeadersOf(refusal.headers),
  }
}

const limitHeadersOf = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:ratelimit|retry-after)/.test(name)))

/** Undefined if it is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length']) > BODY_BYTES_MAX) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function readCall(body: Buffer): Call | HttpAnswer {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return invalid('body', 'is not JSON in UTF-8')
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return invalid('body', 'must be an object')
  const { key, scopes = [], cost, ip, ...others } = parsed as Record<string, unknown>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return invalid(unknown, 'is unknown')
  if (typeof key !== 'string' || (key.length > KEY_LENGTH_MAX && [...key].length > KEY_LENGTH_MAX))
    return invalid('key', `must be a string of at most ${KEY_LENGTH_MAX} characters`)
  if (!Array.isArray(scopes) || scopes.length > SCOPES_MAX)
    return invalid('scopes', `must be an array of at most ${SCOPES_MAX} scopes`)
  const wrong = scopes.findIndex(
    scope => typeof scope !== 'string' || scope === '' || scope.length > SCOPE_LENGTH_MAX,
  )
  if (wrong !== -1)
    return invalid(`scopes.${wrong}`, `must be a string of 1 to ${SCOPE_LENGTH_MAX} characters`)
  const isCost = typeof cost === 'number' && Number.isInteger(cost) && cost >= 0 && cost <= COST_MAX
  if (cost !== undefined && !isCost) return invalid('cost', `must be an integer from 0 to ${COST_MAX}`)
  // Null is what a program has that knows no address, and what the gates of the SDK take.
  const isUnknown = ip === undefined || ip === null
  const address = typeof ip === 'string' && ip.length <= IP_LENGTH_MAX ? bareAddress(ip) : undefined
  if (!isUnknown && address === undefined) return invalid('ip', 'must be an IPv4 or IPv6 address')
  return { key, scopes, cost: isCost ? cost : undefined, ip: address }
}

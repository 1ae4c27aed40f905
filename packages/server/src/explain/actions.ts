import type { KeyExplain, KeyExplainQuery, KeyExplanation, Reason } from '@keyrail/contract/vendor/explain'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import { sightOf, type VendorPrincipal } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import { type KeyFacts, readKeyFacts, seesImported } from '../keys/facts.ts'
import { toKey } from '../keys/resource.ts'
import type { KeyTurns } from '../keys/turns.ts'
import type { Clock } from '../platform/clock.ts'
import { envOfKey, tokenDigest } from '../platform/crypto/token.ts'
import { readBareAddress } from '../platform/network/client-address.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import { dateOrNull, iso } from '../platform/time.ts'
import { readNodesOfKey } from '../policy/key-nodes.ts'
import { type PeekNeeds, peekLimits } from '../ratelimit/peek.ts'
import { formOf, reasonsOf, unknownReasons } from './reasons.ts'

/** What the routes of this room need from outside; `deps.ts` provides it. */
export interface ExplainNeeds extends PeekNeeds {
  readonly clock: Pick<Clock, 'now'>
  readonly keyTurns: Pick<KeyTurns, 'identify'>
}

type Asking = Pick<Call<VendorPrincipal, unknown, unknown>, 'db' | 'principal' | 'deadline'>
type Asked = KeyExplainQuery

/** @throws {Refusal} `not_found` for a missing key as for one that the caller cannot see */
export async function explainKey(
  deps: ExplainNeeds,
  call: Asking,
  id: string,
  asked: Asked,
): Promise<KeyExplanation> {
  assertAddress(asked)
  const { db, principal } = call
  const facts = await db.readAtOnce(principal.workspaceId, tx => readKeyFacts(tx, id, sightOf(principal)))
  if (facts === null) throw new Refusal('not_found')
  return await explainFacts(deps, call, facts, asked, null)
}

/** @throws {Refusal} `too_many_requests`: texts could be tried */
export async function explainText(
  deps: ExplainNeeds,
  call: Asking,
  { key: text, ...asked }: KeyExplain,
): Promise<KeyExplanation> {
  assertAddress(asked)
  const { db, principal } = call
  const { kind, id, sessionId } = principal
  deps.keyTurns.identify.take(`${kind} ${sessionId ?? id}`)
  const digest = tokenDigest(text)
  const [facts, acceptsAny] = await db.readAtOnce(principal.workspaceId, tx =>
    Promise.all([readKeyFacts(tx, digest, sightOf(principal)), seesImported(tx, sightOf(principal))]),
  )
  if (facts !== null) return await explainFacts(deps, call, facts, asked, text)
  return {
    ...judge(unknownReasons(text, acceptsAny)),
    at: iso(dateOrNull(asked.at) ?? new Date(deps.clock.now())),
    key: null,
    tenant: null,
    project: null,
    limits: [],
    nodes: null,
  }
}

function assertAddress({ ip }: Asked): void {
  if (ip !== undefined && readBareAddress(ip) === null)
    throw invalidField(
      'ip',
      'must be an IPv4 or IPv6 address without a port, brackets or spaces, as servers take it',
    )
}

async function explainFacts(
  deps: ExplainNeeds,
  { db, principal, deadline }: Asking,
  facts: KeyFacts,
  { scopes = [], ip, at }: Asked,
  /** The text of the key; null: it was asked for by its id. */
  text: string | null,
): Promise<KeyExplanation> {
  const asOf = dateOrNull(at)
  const address = ip === undefined ? null : readBareAddress(ip)
  const { id, project_id: projectId, tenant_id: tenantId, env } = facts
  const { workspaceId, reach } = principal
  const check = { workspaceId, projectId, env, keyId: id, tenantId, rules: facts.limits }
  const maySee = (permission: Permission) =>
    principal.permissions === null || principal.permissions.has(permission)
  const [limits, nodes] = await Promise.all([
    asOf === null ? peekLimits(deps, check, deadline) : [],
    reach === 'test' || !maySee('projects:read')
      ? null
      : db.readAtOnce(workspaceId, tx => readNodesOfKey(tx, { projectId, env, keyId: id, tenantId })),
  ])
  // What people call and note about tenants and projects needs the permissions of these.
  const shown = {
    ...facts,
    ...(!maySee('tenants:read') && { suspended_reason: null, tenant_external_id: tenantId }),
    ...(!maySee('projects:read') && { project_name: projectId }),
  }
  return {
    ...judge([
      ...(text === null ? [] : [formOf(text)]),
      ...reasonsOf({
        facts: shown,
        textEnv: text === null ? null : envOfKey(text),
        scopes,
        address,
        asOf,
        limits,
        hidesTenant: !maySee('tenants:read'),
      }),
    ]),
    at: iso(asOf ?? facts.now),
    key: toKey(facts),
    tenant: maySee('tenants:read')
      ? { id: tenantId, external_id: facts.tenant_external_id, name: facts.tenant_name }
      : null,
    project: maySee('projects:read') ? { id: projectId, name: facts.project_name } : null,
    limits,
    nodes,
  }
}

/** The verdict is the first reason that applies. */
function judge(reasons: Reason[]): Pick<KeyExplanation, 'object' | 'accepted' | 'code' | 'reasons'> {
  const code = reasons.find(({ applies }) => applies)?.code ?? 'valid'
  return { object: 'key_explanation', accepted: code === 'valid', code, reasons }
}

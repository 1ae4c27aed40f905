import { nodeIdPattern } from '@keyrail/contract/feed'
import {
  RateLimitCheck,
  type RateLimitChecks,
  type RateLimitVerdict,
  type RateLimitVerdicts,
} from '@keyrail/contract/ratelimit'
import { assertEnvReach } from '../gate/access.ts'
import { answerEach, type ListedCalls, underPath } from '../gate/listed-calls.ts'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import { compile } from '../platform/http/validate.ts'
import { toVerdict } from './answer.ts'
import type { CheckingNodes } from './checking-nodes.ts'
import type { Check } from './fold.ts'
import type { CounterStore } from './store.ts'

/** What charging limits needs. */
export interface ChargeNeeds {
  readonly counters: Pick<CounterStore, 'check'>
  readonly countRateLimit: (verdict: 'allowed' | 'denied') => void
}

/** What the routes of this room need from outside; `deps.ts` provides it. */
export interface RatelimitNeeds extends ChargeNeeds {
  readonly checkingNodes: Pick<CheckingNodes, 'note'>
  readonly listedChecks: Pick<ListedCalls, 'enter'>
}

type Asking = Pick<Call<VendorPrincipal, unknown, unknown>, 'principal' | 'deadline' | 'header'>

/** @throws {Refusal} `not_found`, `counter_limit_reached`, `unavailable` */
export async function answerCheck(
  { counters, checkingNodes, countRateLimit }: Omit<RatelimitNeeds, 'listedChecks'>,
  { principal, deadline, header }: Asking,
  body: RateLimitCheck,
): Promise<RateLimitVerdict> {
  assertSeesProject(principal, body.project_id)
  const check = {
    workspaceId: principal.workspaceId,
    projectId: body.project_id.toLowerCase(),
    env: body.env,
    keyId: body.key_id?.toLowerCase() ?? null,
    tenantId: body.tenant_id?.toLowerCase() ?? null,
    cost: body.cost ?? 1,
    rules: body.limits,
  }
  const verdict = await chargeLimits({ counters, countRateLimit }, check, deadline)
  const node = header('keyrail-node')
  // A header that is no node id is no reason to refuse a check.
  if (node === undefined || !nodeIdPattern.test(node)) return verdict
  return { ...verdict, nodes: checkingNodes.note(check, node) }
}

/**
 * Charges a request to all of its limits, or to none.
 * @throws {Refusal} `counter_limit_reached`, `unavailable`
 */
export async function chargeLimits(
  { counters, countRateLimit }: ChargeNeeds,
  check: Check,
  deadline: Deadline,
): Promise<RateLimitVerdict> {
  const verdict = toVerdict(check, await counters.check(check, deadline))
  countRateLimit(verdict.allowed ? 'allowed' : 'denied')
  return verdict
}

const validate = compile(RateLimitCheck, 'check')
const readCheck = (check: unknown): RateLimitCheck => {
  validate(check)
  return check as RateLimitCheck
}

/** Answers each check of a list as if it had come alone, and charges them in the order of the list. */
export async function answerChecks(
  deps: RatelimitNeeds,
  call: Call<VendorPrincipal, unknown, RateLimitChecks>,
): Promise<RateLimitVerdicts> {
  const { principal, body, problemOf } = call
  const answerOne = async (sent: unknown, at: number) => {
    const check = underPath('check', `checks.${at}`, () => readCheck(sent))
    assertEnvReach(principal, check)
    return await answerCheck(deps, call, check)
  }
  const end = deps.listedChecks.enter(principal.workspaceId, body.checks.length)
  const checks = await answerEach(body.checks, answerOne, problemOf).finally(end)
  return { object: 'ratelimit_checks', checks }
}

import {
  RateLimitCheck,
  type RateLimitChecks,
  type RateLimitVerdict,
  type RateLimitVerdicts,
} from '@keyrail/contract/ratelimit'
import { assertEnvReach } from '../gate/access.ts'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import { compile } from '../platform/http/validate.ts'
import { Refusal } from '../platform/refusal.ts'
import { toVerdict } from './answer.ts'
import type { ListedChecks } from './listed-checks.ts'
import type { CounterStore } from './store.ts'

/** What the routes of this room need from outside; `deps.ts` provides it. */
export interface RatelimitNeeds {
  readonly counters: Pick<CounterStore, 'check'>
  readonly listedChecks: Pick<ListedChecks, 'enter'>
  readonly countRateLimit: (verdict: 'allowed' | 'denied') => void
}

/** @throws {Refusal} `not_found`, `counter_limit_reached`, `unavailable` */
export async function answerCheck(
  { counters, countRateLimit }: Omit<RatelimitNeeds, 'listedChecks'>,
  principal: VendorPrincipal,
  body: RateLimitCheck,
  deadline: Deadline,
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
  const verdict = toVerdict(check, await counters.check(check, deadline))
  countRateLimit(verdict.allowed ? 'allowed' : 'denied')
  return verdict
}

const validate = compile(RateLimitCheck, 'check')

/**
 * Answers each check of a list as if it had come alone. The store is asked in the order of the list, and so it charges them.
 * @throws {Refusal} `unavailable` when the store has answered no check of those that it was asked; `too_many_in_flight` when
 *   the workspace has too many checks of lists pending.
 */
export async function answerChecks(
  deps: RatelimitNeeds,
  { principal, body, deadline, problemOf }: Call<VendorPrincipal, unknown, RateLimitChecks>,
): Promise<RateLimitVerdicts> {
  const answerOne = async (check: unknown, at: number) => {
    assertValid(check, at)
    assertEnvReach(principal, check)
    return await answerCheck(deps, principal, check, deadline)
  }
  const end = deps.listedChecks.enter(principal.workspaceId, body.checks.length)
  const outcomes = await Promise.allSettled(body.checks.map(answerOne)).finally(end)
  const refusals = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
  const fault = refusals.find(reason => !(reason instanceof Refusal))
  if (fault !== undefined) throw fault
  const isAway = refusals.length === outcomes.length && refusals.some(({ code }) => code === 'unavailable')
  if (isAway) throw refusals.find(({ code }) => code === 'unavailable')
  return {
    object: 'ratelimit_checks',
    checks: outcomes.map(outcome =>
      outcome.status === 'fulfilled' ? outcome.value : { error: problemOf(outcome.reason) },
    ),
  }
}

/** @throws {Refusal} `validation_failed`, which names the path within the list. */
function assertValid(check: unknown, at: number): asserts check is RateLimitCheck {
  try {
    validate(check)
  } catch (error) {
    const [fault] = (error as Refusal).faults
    if (fault === undefined) throw error
    const path = fault.path === 'check' ? `checks.${at}` : `checks.${at}.${fault.path}`
    throw new Refusal('validation_failed', `${path}: ${fault.message}`, {
      faults: [{ path, message: fault.message }],
    })
  }
}

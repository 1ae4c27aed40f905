import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  Env,
  integerOr,
  listOf,
  namedTenant,
  nullable,
  oneOf,
  oneTenantAtMost,
  paging,
  type ReadQuery,
  StoredName,
  strictObject,
  Uuid,
} from '../shared.ts'
import { refusalReasons } from '../usage.ts'
import { shadowRefusals } from '../verdicts.ts'

/** Requests made with keys, by UTC day and month. Spec, "Usage". */

const RequestCount = Type.Integer({
  minimum: 0,
  description: 'Reported requests divided by the sample rate, rounded.',
})
const Estimated = Type.Boolean({
  description: 'Whether a server has counted only a sample.',
})
const date = '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
const Month = Type.String({
  pattern: date,
  description: 'The first day of the month, in UTC.',
  examples: ['2027-01-01'],
})
const months = (byDefault: number) => integerOr(byDefault, 1, 24)

export const KeyUsageQuery = Type.Object({
  days: integerOr(30, 1, 90),
})
export type KeyUsageQuery = ReadQuery<typeof KeyUsageQuery>

/** Every UTC day of the span, ending today. `total` is the sum over the days. */
export const KeyUsage = strictObject({
  object: Type.Literal('key_usage'),
  key_id: Uuid,
  days: Type.Integer({ minimum: 1, maximum: 90 }),
  total: RequestCount,
  estimated: Estimated,
  data: Type.Array(strictObject({ date: Type.String({ pattern: date }), request_count: RequestCount })),
})
export type KeyUsage = Static<typeof KeyUsage>

export const DailyUsageQuery = Type.Object(
  { days: integerOr(30, 1, 90), project_id: Type.Optional(Uuid), ...namedTenant, env: Type.Optional(Env) },
  oneTenantAtMost,
)
export type DailyUsageQuery = ReadQuery<typeof DailyUsageQuery>

/** Requests with all keys of the filter. Every UTC day of the span, ending today. `total` is the sum over the days. */
export const DailyUsage = strictObject({
  object: Type.Literal('daily_usage'),
  days: Type.Integer({ minimum: 1, maximum: 90 }),
  total: RequestCount,
  estimated: Estimated,
  data: Type.Array(strictObject({ date: Type.String({ pattern: date }), request_count: RequestCount })),
})
export type DailyUsage = Static<typeof DailyUsage>

export const BillingUsageQuery = Type.Object({ months: months(6) })
export type BillingUsageQuery = ReadQuery<typeof BillingUsageQuery>

/** Tenants with a live request in any project, for each month of the span, ending this month. */
export const BillingUsage = strictObject({
  object: Type.Literal('billing_usage'),
  data: Type.Array(strictObject({ month: Month, billable_tenants: Type.Integer({ minimum: 0 }) })),
})
export type BillingUsage = Static<typeof BillingUsage>

export const TenantUsageQuery = Type.Object({
  months: months(1),
  month: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{3}-(0[1-9]|1[0-2])-01$',
      description: 'The last month of the span, by its first day in UTC. By default this month.',
      examples: ['2027-01-01'],
    }),
  ),
  env: Type.Optional(Env),
  ...paging(),
})
export type TenantUsageQuery = ReadQuery<typeof TenantUsageQuery>

export const TenantUsage = strictObject({
  month: Month,
  tenant_id: Uuid,
  project_id: Uuid,
  env: Env,
  request_count: RequestCount,
  estimated: Estimated,
})
export type TenantUsage = Static<typeof TenantUsage>
export const TenantUsages = listOf(TenantUsage)
export type TenantUsages = Static<typeof TenantUsages>

export const TopUsageQuery = Type.Object({
  by: Type.Optional(
    oneOf(['tenant', 'project', 'key'], {
      default: 'tenant',
      description: 'What the requests are added up by.',
    }),
  ),
  env: Type.Optional(oneOf(['live', 'test'], { default: 'live' })),
  days: integerOr(30, 1, 30),
  project_id: Type.Optional(Uuid),
  tenant_id: Type.Optional(Uuid),
  most: integerOr(5, 1, 20),
})
export type TopUsageQuery = ReadQuery<typeof TopUsageQuery>

/** The tenants, projects or keys with the most requests in the last UTC days, ending today. */
export const TopUsage = strictObject({
  object: Type.Literal('top_usage'),
  by: oneOf(['tenant', 'project', 'key']),
  env: Env,
  days: Type.Integer({ minimum: 1, maximum: 30 }),
  exact: Type.Boolean({
    description:
      'Whether no other has more requests. False where there are too many to read: the rows are right, and others may belong between them.',
  }),
  data: Type.Array(
    strictObject({
      id: Uuid,
      request_count: RequestCount,
      estimated: Estimated,
      key: nullable(
        strictObject(
          { name: nullable(StoredName), display_prefix: Type.String(), tenant_id: Uuid, project_id: Uuid },
          { description: 'By key: what the key is called, and whose it is. Else null.' },
        ),
      ),
    }),
    { maxItems: 20 },
  ),
})
export type TopUsage = Static<typeof TopUsage>

export const RefusalsQuery = Type.Object({
  days: integerOr(30, 1, 90),
  project_id: Type.Optional(Uuid),
  env: Type.Optional(Env),
})
export type RefusalsQuery = ReadQuery<typeof RefusalsQuery>

const ShadowCount = (description: string) => Type.Integer({ minimum: 0, description })

const byReason = (description: string) =>
  Type.Array(strictObject({ reason: oneOf(shadowRefusals), count: Type.Integer({ minimum: 1 }) }), {
    maxItems: shadowRefusals.length,
    description,
  })

/** Requests that keyrings judged beside an old check, of which they refused none. A request may be compared and pass a guard. */
const ShadowFigures = strictObject({
  agreed: ShadowCount('Both accepted, or both refused.'),
  accepted: ShadowCount('Refused by the old check, and accepted by the keyring.'),
  refused: byReason('Accepted by the old check, and refused by the keyring, by reason, the most first.'),
  guards: byReason(
    'What guards in shadow would have refused, by reason, the most first. What the old check said is not known.',
  ),
})
export type ShadowFigures = Static<typeof ShadowFigures>

/** Requests that servers refused in the last UTC days, ending today, by reason, the most first. */
export const Refusals = strictObject({
  object: Type.Literal('refusals'),
  days: Type.Integer({ minimum: 1, maximum: 90 }),
  total: Type.Integer({ minimum: 0 }),
  data: Type.Array(strictObject({ reason: oneOf(refusalReasons), count: Type.Integer({ minimum: 1 }) }), {
    maxItems: refusalReasons.length,
  }),
  shadow: ShadowFigures,
})
export type Refusals = Static<typeof Refusals>

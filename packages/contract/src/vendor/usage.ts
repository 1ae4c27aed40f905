import Type, { type Static } from 'typebox'
import { Env, listOf, paging, strictObject, Uuid } from '../shared.ts'

/** Requests that keys have made, by UTC day and month. Spec, "Usage". */

const RequestCount = Type.Integer({
  minimum: 0,
  description: 'What was reported, divided by the sample rate, and rounded.',
})
const date = '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
const Month = Type.String({
  pattern: date,
  description: 'The first day of the month, in UTC.',
  examples: ['2027-01-01'],
})
const months = (byDefault: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 24, default: byDefault }))

export const KeyUsageQuery = Type.Object({
  days: Type.Optional(Type.Integer({ minimum: 1, maximum: 90, default: 30 })),
})

/** Every day of the span, the last one being today, in UTC. `total` is the sum of what the days show. */
export const KeyUsage = strictObject({
  object: Type.Literal('key_usage'),
  key_id: Uuid,
  days: Type.Integer({ minimum: 1, maximum: 90 }),
  total: RequestCount,
  data: Type.Array(strictObject({ date: Type.String({ pattern: date }), request_count: RequestCount })),
})
export type KeyUsage = Static<typeof KeyUsage>

export const BillingUsageQuery = Type.Object({ months: months(6) })

/** Tenants with a live request, in any project, for each month of the span; the last one is this month. */
export const BillingUsage = strictObject({
  object: Type.Literal('billing_usage'),
  data: Type.Array(strictObject({ month: Month, billable_tenants: Type.Integer({ minimum: 0 }) })),
})
export type BillingUsage = Static<typeof BillingUsage>

export const TenantUsageQuery = Type.Object({ months: months(1), env: Type.Optional(Env), ...paging() })
export type TenantUsageQuery = Static<typeof TenantUsageQuery>

export const TenantUsage = strictObject({
  month: Month,
  tenant_id: Uuid,
  project_id: Uuid,
  env: Env,
  request_count: RequestCount,
})
export type TenantUsage = Static<typeof TenantUsage>
export const TenantUsages = listOf(TenantUsage)

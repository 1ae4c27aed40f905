import type { Static } from 'typebox'
import { Type } from './schema.ts'
import { Env, strictObject, Timestamp, Uuid } from './shared.ts'
import { type ServiceVerdict, shadowPrefix, shadowWords } from './verdicts.ts'

/** Requests counted by a vendor's servers: those that passed, by key and hour, and those refused, by reason and hour. */

const Hour = {
  ...Timestamp,
  description:
    'Any moment of the hour, in UTC. Hours older than 7 days or more than 5 minutes ahead are ignored.',
} as typeof Timestamp
const count = (description: string) => Type.Integer({ minimum: 1, maximum: 1_000_000_000, description })
const ReportId = {
  ...Uuid,
  description: 'Chosen by the sender. A report is applied once, however often it is sent.',
} as typeof Uuid

const UsageRecord = strictObject({
  key_id: Uuid,
  hour: Hour,
  count: count('Counted requests, not divided by the sample rate.'),
})

export const UsageReport = strictObject({
  report_id: ReportId,
  sample_rate: Type.Number({
    minimum: 0.0001,
    maximum: 1,
    description: 'The share of requests that was counted. The service divides counts by it.',
  }),
  records: Type.Array(UsageRecord, { minItems: 1, maxItems: 1_000 }),
})
export type UsageReport = Static<typeof UsageReport>

const Records = Type.Integer({ minimum: 0, maximum: 1_000 })
/** How many records were counted, and how many ignored. A repeated report gets the same answer. */
export const TakenUsageReport = strictObject({
  object: Type.Literal('usage_report'),
  report_id: Uuid,
  accepted: Records,
  ignored: Records,
})
export type TakenUsageReport = Static<typeof TakenUsageReport>

/** Why requests are refused: the codes of verdicts that say something about a key. */
export const refusalReasons = [
  'unknown_key',
  'revoked_key',
  'disabled_key',
  'suspended_tenant',
  'expired_key',
  'too_old',
  'ip_unknown',
  'ip_not_allowed',
  'insufficient_scope',
  'rate_limited',
] as const satisfies readonly ServiceVerdict[]
export type RefusalReason = (typeof refusalReasons)[number]

/** The reasons of requests that a keyring in shadow has judged: nothing was refused. */
export const shadowReasons: readonly string[] = shadowWords.map(word => `${shadowPrefix}${word}`)

const inCode = (words: readonly string[]): string => words.map(word => `\`${word}\``).join(', ')

const RefusalRecord = strictObject({
  hour: Hour,
  reason: Type.String({
    pattern: '^[a-z][a-z0-9_]{0,31}$',
    description: `One of ${inCode(refusalReasons)}; or, of requests that were judged in shadow and not refused, one of ${inCode(shadowReasons)}. Others are ignored.`,
    examples: ['unknown_key'],
  }),
  count: count('Requests that were refused, or judged in shadow.'),
})

export const RefusalReport = strictObject({
  report_id: ReportId,
  project_id: Uuid,
  env: Type.Optional({
    ...Env,
    description: 'By default that of the secret key.',
  } as typeof Env),
  records: Type.Array(RefusalRecord, { minItems: 1, maxItems: 100 }),
})
export type RefusalReport = Static<typeof RefusalReport>

/** How many records were counted, and how many ignored. A repeated report gets the same answer. */
export const TakenRefusalReport = strictObject({
  object: Type.Literal('refusal_report'),
  report_id: Uuid,
  accepted: Records,
  ignored: Records,
})
export type TakenRefusalReport = Static<typeof TakenRefusalReport>

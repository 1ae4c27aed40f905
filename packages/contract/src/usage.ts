import type { Static } from 'typebox'
import { Type } from './schema.ts'
import { strictObject, Timestamp, Uuid } from './shared.ts'

/** Requests counted by a vendor's servers, by key and hour. */

const UsageRecord = strictObject({
  key_id: Uuid,
  hour: {
    ...Timestamp,
    description:
      'Any moment of the hour, in UTC. Hours older than 7 days or more than 5 minutes ahead are ignored.',
  } as typeof Timestamp,
  count: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000,
    description: 'Counted requests, not divided by the sample rate.',
  }),
})

export const UsageReport = strictObject({
  report_id: {
    ...Uuid,
    description: 'Chosen by the sender. A report is applied once, however often it is sent.',
  } as typeof Uuid,
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

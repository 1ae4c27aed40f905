import type { Static } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import { Type } from '../schema.ts'
import { Env, nullable, oneOf, resource, StoredName, strictObject, Timestamp, Uuid } from '../shared.ts'
import { HygieneDays, KeyHygiene } from './keys.ts'

/** How many keys a call names by their ids, and how many change in one transaction. */
export const bulkIdsMax = 200

/** What is done to many keys. */
export const BulkAction = oneOf(['revoke', 'disable', 'enable'])
export type BulkAction = Static<typeof BulkAction>

/** Which keys, among those that the caller can see and on which the action does something. */
export const KeyFilter = strictObject(
  {
    project_id: Type.Optional(Uuid),
    tenant_id: Type.Optional(Uuid),
    env: Type.Optional(Env),
    created_before: Type.Optional(Timestamp),
    unused_since: Type.Optional({
      ...Timestamp,
      description: 'Last used before this time, or created before it and never used.',
    }),
    hygiene: Type.Optional(KeyHygiene),
    days: Type.Optional(HygieneDays),
    name: Type.Optional({ ...StoredName, description: 'Exactly this name, as `name` of the list.' }),
  },
  { minProperties: 1 },
)
export type KeyFilter = Static<typeof KeyFilter>

const chosen = {
  ids: Type.Optional(
    Type.Array(Uuid, {
      minItems: 1,
      maxItems: bulkIdsMax,
      description: 'An id that is there twice is taken once.',
    }),
  ),
  filter: Type.Optional(KeyFilter),
  expect: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      description:
        'How many keys the filter matches, as `POST /v1/keys/count` says. Another number is 409 `count_changed`.',
    }),
  ),
}
const reason = { reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })) }
const choice = {
  oneOf: [{ required: ['ids'] }, { required: ['filter'] }],
  dependentRequired: { filter: ['expect'], expect: ['filter'] },
}
/** `choice` as a type. */
export type ChosenKeys =
  | { ids: string[]; filter?: never; expect?: never }
  | { ids?: never; filter: KeyFilter; expect: number }

const StopManyFields = strictObject(reason)
/** Body of a revocation or a pause of many keys. */
export const StopMany = Type.Unsafe<Static<typeof StopManyFields> & ChosenKeys>(
  strictObject({ ...chosen, ...reason }, choice),
)
export type StopMany = Static<typeof StopMany>
export const ResumeMany = Type.Unsafe<ChosenKeys>(strictObject(chosen, choice))
export type ResumeMany = Static<typeof ResumeMany>

export const KeyCountBody = strictObject({ action: BulkAction, filter: KeyFilter })
export type KeyCountBody = Static<typeof KeyCountBody>
export const KeyCount = strictObject({
  object: Type.Literal('key_count'),
  count: Type.Integer({ minimum: 0, description: 'On how many keys the action does something now.' }),
})
export type KeyCount = Static<typeof KeyCount>

export const BulkFailure = strictObject({
  key_id: Uuid,
  code: Type.Unsafe<Extract<ErrorCode, 'not_found' | 'key_not_active'>>(
    oneOf(['not_found', 'key_not_active']),
  ),
})
export type BulkFailure = Static<typeof BulkFailure>

/** The result of `wait=true`, over all projects in which keys changed. */
export const BulkPropagation = strictObject({
  acknowledged: Type.Boolean(),
  nodes: Type.Integer({ description: 'A node that follows several of the projects counts for each.' }),
  nodes_acknowledged: Type.Integer(),
  pending: Type.Array(Type.String(), { maxItems: 50 }),
  waited_ms: Type.Integer(),
  reason: Type.Optional(
    oneOf(['nodes_unknown', 'too_many_projects'], {
      description:
        '`nodes_unknown`: as for one key. `too_many_projects`: keys of more than 200 projects changed, so their nodes are not counted.',
    }),
  ),
})
export type BulkPropagation = Static<typeof BulkPropagation>

const fields = {
  action: BulkAction,
  status: oneOf(['running', 'done']),
  matched: Type.Integer({ minimum: 0, description: 'Ids of the call, or keys that the filter matched.' }),
  done: Type.Integer({ minimum: 0, description: 'Keys that are now as asked for.' }),
  failed: Type.Integer({ minimum: 0 }),
  failures: Type.Array(BulkFailure, { maxItems: bulkIdsMax }),
  finished_at: nullable(Timestamp),
}
/** How far a change of many keys has come. */
export const BulkOperation = resource('bulk_operation', fields)
export type BulkOperation = Static<typeof BulkOperation>
export const SettledBulk = resource('bulk_operation', {
  ...fields,
  propagation: Type.Optional(BulkPropagation),
})
export type SettledBulk = Static<typeof SettledBulk>

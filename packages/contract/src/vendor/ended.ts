import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import { Env, type ReadQuery, strictObject, Uuid } from '../shared.ts'

/** Which revoked and expired keys are deleted. */
export const EndedKeysQuery = Type.Object({
  project_id: Type.Optional(Uuid),
  tenant_id: Type.Optional(Uuid),
  env: Type.Optional(Env),
})
export type EndedKeysQuery = ReadQuery<typeof EndedKeysQuery>

export const EndedSecretKeysQuery = Type.Object({ env: Type.Optional(Env) })
export type EndedSecretKeysQuery = ReadQuery<typeof EndedSecretKeysQuery>

/** A call deletes a batch. */
export const EndedKeysDeleted = strictObject({
  object: Type.Literal('ended_keys_deletion'),
  deleted: Type.Integer({ minimum: 0, description: 'How many keys this call has deleted.' }),
  has_more: Type.Boolean({ description: 'Whether to repeat the call: there may be more.' }),
})
export type EndedKeysDeleted = Static<typeof EndedKeysDeleted>

import type { Calls } from './calls.ts'
import type { Listing } from './list.ts'
import { faultFromService } from './names.ts'
import type * as o from './options.ts'
import type { CallOptions, KeyedOptions } from './request.ts'
import type * as t from './types.ts'

/** Calls on the keys of tenants. */
export interface KeyCalls {
  /** `POST /v1/keys`. Rejects with `secret_lost` if the answer with `key` was lost: rotate the key `resourceId` then. */
  create(body: t.KeyCreate, options?: KeyedOptions): Promise<t.CreatedKey>
  /** `GET /v1/keys` */
  list(query?: t.KeyList, options?: CallOptions): Listing<t.Key>
  /** `GET /v1/keys/:id` */
  get(id: string, options?: CallOptions): Promise<t.Key>
  /** `POST /v1/keys/identify`. Finds a key by the key itself, also a revoked or expired one. */
  identify(key: string, options?: CallOptions): Promise<t.Key>
  /** `GET /v1/keys/:id/explain`. Whether nodes accept the key, and every reason why not. Charges nothing. */
  explain(id: string, query?: t.KeyExplainQuery, options?: CallOptions): Promise<t.KeyExplanation>
  /** `POST /v1/keys/explain`. The same for the key itself, also for a text that is no key of the workspace. */
  explainText(body: t.KeyExplain, options?: CallOptions): Promise<t.KeyExplanation>
  /**
   * `POST /v1/keys/verify`. Judges a key, charges its limits and counts the request; every verdict resolves. Not repeated by
   * default, since a call without an answer may have been charged. A keyring verifies without a call.
   */
  verify(body: t.KeyVerify, options?: CallOptions): Promise<t.KeyVerdict>
  /** `PATCH /v1/keys/:id` */
  update(id: string, body: t.KeyUpdate, options?: CallOptions): Promise<t.Key>
  /** `POST /v1/keys/:id/rotate`. Rejects with `secret_lost` if the answer with `key` was lost: rotate `resourceId` then. */
  rotate(id: string, body?: o.RotateBody, options?: KeyedOptions): Promise<t.RotatedKey>
  /** `POST /v1/keys/:id/revoke`. With `wait` it returns once the nodes have the revocation, and lists those that have not. */
  revoke(id: string, stop?: o.StopOptions, options?: CallOptions): Promise<t.RevokedKey>
  /** `POST /v1/keys/:id/disable`. Nodes refuse the key until it is resumed. With `wait` it returns once they have the pause. */
  disable(id: string, stop?: o.StopOptions, options?: CallOptions): Promise<t.PausedKey>
  /** `POST /v1/keys/:id/enable`. Resumes a paused key, which is then what it was. */
  enable(id: string, waiting?: o.Waiting, options?: CallOptions): Promise<t.PausedKey>
  /** `POST /v1/keys/revoke`. Up to 200 `ids`, or a `filter` and how many keys it is to match; batches go on after the answer. */
  revokeMany(stop: t.StopMany & o.Waiting, options?: KeyedOptions): Promise<t.SettledBulk>
  /** `POST /v1/keys/disable`. Pauses keys, named as for `revokeMany`. */
  disableMany(stop: t.StopMany & o.Waiting, options?: KeyedOptions): Promise<t.SettledBulk>
  /** `POST /v1/keys/enable`. Resumes paused keys, named as for `revokeMany`. */
  enableMany(resume: t.ResumeMany & o.Waiting, options?: KeyedOptions): Promise<t.SettledBulk>
  /** `POST /v1/keys/count`. On how many keys an action would do something: the number to `expect`. */
  count(body: t.KeyCountBody, options?: CallOptions): Promise<t.KeyCount>
  /** `GET /v1/keys/bulk/:id`. How far a change of many keys has come, for 7 days after its end. */
  getBulk(id: string, options?: CallOptions): Promise<t.BulkOperation>
  /** `POST /v1/keys/import`. Up to 1,000 keys of another system by their SHA-256. Each row has its own answer; every one resolves. */
  import(body: t.KeyImport, options?: KeyedOptions): Promise<t.KeyImported>
  /**
   * `GET /v1/keys/export`. An owner's keys that are neither revoked nor expired, with their digests, in one stream, read as fast as
   * you take them. A broken stream continues after the last key. `timeoutMs` limits the wait for more data, not the whole.
   */
  export(query?: t.KeyExport, options?: CallOptions): AsyncIterable<t.ExportedKey>
  /** `DELETE /v1/keys/ended`. An owner deletes a batch of revoked and expired keys; repeat it while `hasMore`. */
  deleteEnded(query?: t.EndedKeysQuery, options?: CallOptions): Promise<t.EndedKeysDeleted>
  /** `GET /v1/keys/:id/usage` */
  usage(id: string, query?: t.KeyUsageQuery, options?: CallOptions): Promise<t.KeyUsage>
}

export const keyCalls = (
  { call, change, create, list, one, read }: Calls,
  exportKeys: KeyCalls['export'],
): KeyCalls => ({
  create: create('POST /v1/keys', 'api_key'),
  list: list('GET /v1/keys'),
  get: one('GET /v1/keys/:id', 'api_key'),
  identify: (key, options) => call('POST /v1/keys/identify', { object: 'api_key', body: { key }, options }),
  explain: (id, query, options) =>
    call('GET /v1/keys/:id/explain', { object: 'key_explanation', id, query, options }),
  explainText: (body, options) => call('POST /v1/keys/explain', { object: 'key_explanation', body, options }),
  verify: (body, { maxRetries = 0, ...more } = {}) =>
    call('POST /v1/keys/verify', { object: 'key_verdict', body, options: { ...more, maxRetries } }),
  update: change('PATCH /v1/keys/:id', 'api_key'),
  rotate: (id, body = {}, options) =>
    call('POST /v1/keys/:id/rotate', { object: 'api_key', keyed: true, id, body, options }),
  revoke: (id, { wait, ...body } = {}, options) =>
    call('POST /v1/keys/:id/revoke', { object: 'api_key', id, query: { wait }, body, options }),
  disable: (id, { wait, ...body } = {}, options) =>
    call('POST /v1/keys/:id/disable', { object: 'api_key', id, query: { wait }, body, options }),
  enable: (id, { wait } = {}, options) =>
    call('POST /v1/keys/:id/enable', { object: 'api_key', id, query: { wait }, options }),
  revokeMany: ({ wait, ...body }, options) =>
    call('POST /v1/keys/revoke', { object: 'bulk_operation', keyed: true, query: { wait }, body, options }),
  disableMany: ({ wait, ...body }, options) =>
    call('POST /v1/keys/disable', { object: 'bulk_operation', keyed: true, query: { wait }, body, options }),
  enableMany: ({ wait, ...body }, options) =>
    call('POST /v1/keys/enable', { object: 'bulk_operation', keyed: true, query: { wait }, body, options }),
  count: (body, options) => call('POST /v1/keys/count', { object: 'key_count', body, options }),
  getBulk: (id, options) => call('GET /v1/keys/bulk/:id', { object: 'bulk_operation', id, options }),
  import: async (body, options) => {
    const answer = await call('POST /v1/keys/import', { object: 'key_import', keyed: true, body, options })
    const rows = answer.rows.map(({ errors, ...row }) =>
      errors === undefined ? row : { ...row, errors: errors.map(faultFromService) },
    )
    return { ...answer, rows }
  },
  export: exportKeys,
  deleteEnded: read('DELETE /v1/keys/ended', 'ended_keys_deletion'),
  usage: (id, query, options) => call('GET /v1/keys/:id/usage', { object: 'key_usage', id, query, options }),
})

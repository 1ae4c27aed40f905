import type { Calls } from './calls.ts'
import type { Listing } from './list.ts'
import type { DisableBody, RevokeBody, RotateBody } from './options.ts'
import type { CallOptions, KeyedOptions } from './request.ts'
import type * as t from './types.ts'

/** What an admin client does with the keys of tenants. */
export const keyCalls = ({ call, change, create, list, one, read }: Calls) => ({
  /** `POST /v1/keys`. Rejects with `secret_lost` if the answer with `key` was lost: rotate the key `resourceId` then. */
  create: create('POST /v1/keys', 'api_key') as (
    body: t.KeyCreate,
    options?: KeyedOptions,
  ) => Promise<t.CreatedKey>,
  /** `GET /v1/keys` */
  list: list('GET /v1/keys') as (query?: t.KeyList, options?: CallOptions) => Listing<t.Key>,
  /** `GET /v1/keys/:id` */
  get: one('GET /v1/keys/:id', 'api_key') as (id: string, options?: CallOptions) => Promise<t.Key>,
  /** `POST /v1/keys/identify`. Finds a key by the key itself, also a revoked or expired one. */
  identify: (key: string, options?: CallOptions): Promise<t.Key> =>
    call('POST /v1/keys/identify', { object: 'api_key', body: { key }, options }),
  /**
   * `POST /v1/keys/verify`. Judges a key, charges its limits and counts the request; every verdict resolves. Not repeated by
   * default, since a call without an answer may have been charged. A keyring verifies without a call.
   */
  verify: (body: t.KeyVerify, { maxRetries = 0, ...more }: CallOptions = {}): Promise<t.KeyVerdict> =>
    call('POST /v1/keys/verify', { object: 'key_verdict', body, options: { ...more, maxRetries } }),
  /** `PATCH /v1/keys/:id` */
  update: change('PATCH /v1/keys/:id', 'api_key') as (
    id: string,
    body: t.KeyUpdate,
    options?: CallOptions,
  ) => Promise<t.Key>,
  /** `POST /v1/keys/:id/rotate`. Rejects with `secret_lost` if the answer with `key` was lost: rotate `resourceId` then. */
  rotate: (id: string, body: RotateBody = {}, options?: KeyedOptions): Promise<t.RotatedKey> =>
    call('POST /v1/keys/:id/rotate', { object: 'api_key', keyed: true, id, body, options }),
  /**
   * `POST /v1/keys/:id/revoke`. With `wait` it returns once the nodes have the revocation, and lists those that have not.
   */
  revoke: (
    id: string,
    body: RevokeBody & { wait?: boolean } = {},
    options?: CallOptions,
  ): Promise<t.RevokedKey> => {
    const { wait, ...rest } = body
    return call('POST /v1/keys/:id/revoke', { object: 'api_key', id, query: { wait }, body: rest, options })
  },
  /**
   * `POST /v1/keys/:id/disable`. Pauses a key: nodes refuse it until it is resumed. With `wait` it returns once the nodes have the
   * pause.
   */
  disable: (
    id: string,
    body: DisableBody & { wait?: boolean } = {},
    options?: CallOptions,
  ): Promise<t.PausedKey> => {
    const { wait, ...rest } = body
    return call('POST /v1/keys/:id/disable', { object: 'api_key', id, query: { wait }, body: rest, options })
  },
  /** `POST /v1/keys/:id/enable`. Resumes a paused key, which is then what it was. */
  enable: (id: string, { wait }: { wait?: boolean } = {}, options?: CallOptions): Promise<t.PausedKey> =>
    call('POST /v1/keys/:id/enable', { object: 'api_key', id, query: { wait }, options }),
  /** `DELETE /v1/keys/ended`. An owner deletes a batch of revoked and expired keys; repeat it while `hasMore`. */
  deleteEnded: read('DELETE /v1/keys/ended', 'ended_keys_deletion') as (
    query?: t.EndedKeysQuery,
    options?: CallOptions,
  ) => Promise<t.EndedKeysDeleted>,
  /** `GET /v1/keys/:id/usage` */
  usage: (id: string, query?: t.KeyUsageQuery, options?: CallOptions): Promise<t.KeyUsage> =>
    call('GET /v1/keys/:id/usage', { object: 'key_usage', id, query, options }),
})

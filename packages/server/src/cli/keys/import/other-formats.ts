import { isDigest, readDigest } from './own-format.ts'
import {
  customerOf,
  digestOf,
  type ImportRow,
  isObject,
  type Json,
  metaOf,
  needed,
  objectOf,
  type Place,
  prefixOf,
  RowFault,
  rowOf,
  shownOf,
  textOf,
} from './rows.ts'
import { endOf, timeOf } from './times.ts'

/** What other systems write, a function each, from one record to one row. Keys in plain text are hashed here. */

/** The keys of `POST /v2/apis.listKeys` of Unkey, decrypted, or rows of its table `keys`. */
export function unkeyRow(record: unknown, { now }: Place): ImportRow {
  const key = withoutNulls(objectOf(record))
  const plain = textOf(key.plaintext ?? key.key)
  const hash = textOf(key.hash)
  const identity = isObject(key.identity) ? key.identity : {}
  const customer = identity.externalId ?? key.externalId ?? key.ownerId ?? key.owner_id ?? key.external_id
  return rowOf(
    {
      external_id: () => needed(customerOf(customer), 'identity.externalId'),
      digest() {
        if (plain !== undefined) return digestOf(plain, 'plaintext')
        if (hash !== undefined) return readDigest(hash, 'hash')
        throw new RowFault(
          'neither plaintext nor hash is there: list recoverable keys with decrypt, or export the table',
        )
      },
      display_prefix: () => shownOf(textOf(key.start)) ?? prefixOf(plain),
      source_id: () => textOf(key.keyId ?? key.id),
      name: () => textOf(key.name),
      scopes: () => (Array.isArray(key.permissions) ? (key.permissions as string[]) : undefined),
      meta: () => metaOf(key.meta, 'meta'),
      expires_at: () => endOf(key.expires, 'expires', now),
      created_at: () => timeOf(key.createdAt ?? key.created_at_m ?? key.created_at, 'createdAt'),
    },
    endOfKey(key),
  )
}

/** MySQL writes an absent value as `NULL` or `\N`. */
const withoutNulls = (row: Json): Json =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => !/^\s*(?:NULL|\\N)\s*$/.test(String(value))))

/** Unkey says whether another page follows. */
export const unkeyGoesOn = ({ pagination }: Json): boolean =>
  isObject(pagination) && pagination.hasMore === true

/** Rows of the table `apikey` of better-auth: `key` is the SHA-256 of the whole key, in base64url, or the key itself. */
export function betterAuthRow(record: unknown, { now }: Place): ImportRow {
  const key = objectOf(record)
  const customer = key.referenceId ?? key.userId ?? key.reference_id ?? key.user_id
  return rowOf(
    {
      external_id: () => needed(customerOf(customer), 'userId'),
      digest() {
        const text = needed(textOf(key.key), 'key')
        if (isPlain(text, textOf(key.start))) return digestOf(text, 'key')
        // Another digest than this system writes could be a key, which must not leave the machine.
        if (!/^[\w-]{43}$/.test(text)) throw new RowFault('key is no SHA-256 in base64url')
        return readDigest(text, 'key')
      },
      display_prefix: () => shownOf(textOf(key.start) ?? textOf(key.prefix)),
      source_id: () => textOf(key.id),
      name: () => textOf(key.name),
      scopes: () => scopesOf(metaOf(key.permissions, 'permissions')),
      meta: () => metaOf(key.metadata, 'metadata'),
      expires_at: () => endOf(key.expiresAt ?? key.expires_at, 'expiresAt', now),
      created_at: () => timeOf(key.createdAt ?? key.created_at, 'createdAt'),
    },
    endOfKey(key),
  )
}

/** A key that was not hashed begins with its own start. A digest may do so by chance, if the start is short. */
const isPlain = (key: string, start: string | undefined): boolean =>
  start !== undefined && key.startsWith(start) && (start.length > 3 || !isDigest(key))

/** `{ "files": ["read", "write"] }` is `files:read` and `files:write`. */
function scopesOf(permissions: Json | undefined): string[] | undefined {
  const scopes = Object.entries(permissions ?? {}).flatMap(([on, actions]) =>
    Array.isArray(actions) ? actions.map(action => `${on}:${action}`) : [],
  )
  return scopes.length === 0 ? undefined : scopes
}

/** Zuplo: each consumer with its keys. */
export const zuploRecords = (consumer: Json): readonly unknown[] =>
  ofConsumer(consumer, 'apiKeys', [consumer])

export function zuploRow(record: unknown, { now }: Place): ImportRow {
  const key = objectOf(record)
  if (!isObject(key.consumer))
    throw new RowFault('the consumer has no apiKeys: list consumers with include-api-keys=true')
  const { consumer } = key
  const plain = textOf(key.key)
  return rowOf({
    external_id: () => needed(customerOf(consumer.name), 'the name of the consumer'),
    digest() {
      if (/\*{4}/.test(plain ?? '')) throw new RowFault('the key is masked: list it with key-format=visible')
      return digestOf(plain, 'key')
    },
    display_prefix: () => prefixOf(plain),
    source_id: () => textOf(key.id),
    name: () => textOf(key.description),
    meta: () => metaOf(consumer.metadata, 'metadata'),
    expires_at: () => endOf(key.expiresOn, 'expiresOn', now),
    created_at: () => timeOf(key.createdOn, 'createdOn'),
  })
}

/** Zuplo says how many consumers there are. */
export const zuploGoesOn = ({ data, offset = 0, total }: Json): boolean =>
  Array.isArray(data) && Number(offset) + data.length < Number(total)

/** Kong: a consumer with its credentials, or one credential of `GET /key-auths`. */
export const kongRecords = (record: Json): readonly unknown[] =>
  ofConsumer(record, 'keyauth_credentials', [record])

/** A consumer of a `deck` dump. One without a key has other credentials, or none. */
export const kongConsumers = (consumer: Json): readonly unknown[] =>
  ofConsumer(consumer, 'keyauth_credentials', [])

/** Kong names the next page. */
export const kongGoesOn = ({ next, offset }: Json): boolean =>
  (next ?? null) !== null || (offset ?? null) !== null

export function kongRow(record: unknown, { now, listedAt }: Place): ImportRow {
  const key = objectOf(record)
  const consumer = isObject(key.consumer) ? key.consumer : {}
  const plain = textOf(key.key)
  return rowOf({
    external_id: () =>
      needed(
        customerOf(consumer.custom_id) ?? customerOf(consumer.username) ?? customerOf(consumer.id),
        'custom_id or username of the consumer',
      ),
    digest: () => digestOf(plain, 'key'),
    display_prefix: () => prefixOf(plain),
    source_id: () => textOf(key.id),
    expires_at: () => endOf(remainingEnd(key.ttl, listedAt), 'ttl', now),
    created_at: () => timeOf(key.created_at, 'created_at'),
  })
}

/** Kong lists the seconds that a key has left. */
function remainingEnd(ttl: unknown, listedAt: number): number | undefined {
  const text = textOf(ttl)
  if (text === undefined || text === '0') return undefined
  if (!/^\d{1,12}$/.test(text)) throw new RowFault('ttl is no number of seconds')
  return listedAt + Number(text) * 1_000
}

/** The keys of a consumer, each with the consumer that it is of. */
function ofConsumer(consumer: Json, member: string, others: readonly unknown[]): readonly unknown[] {
  const { [member]: keys, ...rest } = consumer
  if (!Array.isArray(keys)) return others
  return keys.map(key => (isObject(key) ? { ...key, consumer: rest } : key))
}

/**
 * Keys of API Gateway as its API lists them with their values, or the CSV that it imports. Names have any case. The name of a key is
 * its customer.
 */
export function awsRow(record: unknown): ImportRow {
  const columns = new Map(
    Object.entries(objectOf(record)).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const plain = textOf(columns.get('key') ?? columns.get('value'))
  const name = textOf(columns.get('name'))
  return rowOf(
    {
      external_id: () => needed(customerOf(columns.get('name')), 'name'),
      digest: () => digestOf(plain, 'key'),
      display_prefix: () => prefixOf(plain),
      source_id: () => textOf(columns.get('id')),
      name: () => name,
      meta: () => describedOf(columns),
      created_at: () => timeOf(columns.get('createddate'), 'createdDate'),
    },
    endOfKey({ enabled: columns.get('enabled') }),
  )
}

function describedOf(columns: ReadonlyMap<string, unknown>): Json | undefined {
  const description = textOf(columns.get('description'))
  const plans = textOf(columns.get('usageplanids'))
  if (description === undefined && plans === undefined) return undefined
  return { ...(description && { description }), ...(plans && { usage_plans: plans.split(',') }) }
}

/** API Gateway, and its command line, say where the next page begins. */
export const awsGoesOn = ({ position, NextToken }: Json): boolean => (position ?? NextToken ?? null) !== null

const plainColumns = ['key', 'external_id', 'tenant_id', 'name']

/** A table with the columns `key` and `external_id` or `tenant_id`, and perhaps `name`. */
export function plainRow(record: unknown): ImportRow {
  const given = objectOf(record)
  // A table without a line of names has keys there, so that none is said.
  if (Object.keys(given).some(name => !plainColumns.includes(name)))
    throw new RowFault(`it has a member that is none of ${plainColumns.join(', ')}`)
  const plain = textOf(given.key)
  return rowOf({
    tenant_id: () => textOf(given.tenant_id),
    external_id: () => customerOf(given.external_id),
    digest: () => digestOf(plain, 'key'),
    display_prefix: () => prefixOf(plain),
    name: () => textOf(given.name),
  })
}

/** Why its system refuses a key; null: it does not. */
function endOfKey({ enabled, deleted_at_m, deletedAt }: Json): string | null {
  if (/^(?:false|f|0)$/i.test(String(enabled).trim())) return 'the key is disabled'
  return /^(?:|0|null|undefined|false)$/i.test(String(deleted_at_m ?? deletedAt).trim())
    ? null
    : 'the key is deleted'
}

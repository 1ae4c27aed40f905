import {
  awsGoesOn,
  awsRow,
  betterAuthRow,
  kongConsumers,
  kongGoesOn,
  kongRecords,
  kongRow,
  plainRow,
  unkeyGoesOn,
  unkeyRow,
  zuploGoesOn,
  zuploRecords,
  zuploRow,
} from './other-formats.ts'
import { ownRow } from './own-format.ts'
import type { Shape } from './read-file.ts'
import type { ImportRow, Json, Place } from './rows.ts'

/** What a file may be, by the name that `--format` has for it. */
export interface Format extends Shape {
  readonly what: string
  /** The members or columns that a record needs. */
  readonly needs: string
  /** The page of `docs/migrate` on it. */
  readonly page: string
  /** @throws {RowFault | RowRefused | LeftOut} if the record gives no row */
  readonly row: (record: unknown, place: Place) => ImportRow
}

const itself = (record: Json): readonly unknown[] => [record]

export const formats = {
  keyrail: {
    what: 'an export of this service, or a table of SHA-256 digests',
    needs: 'digest, and external_id or tenant_id',
    page: 'digests.md',
    row: ownRow,
  },
  plain: {
    what: 'a table with the columns key and external_id, hashed on this machine',
    needs: 'key, and external_id or tenant_id',
    page: 'digests.md',
    row: plainRow,
  },
  unkey: {
    what: 'keys as Unkey lists them, decrypted, or its table',
    needs: 'plaintext or hash, and identity.externalId or owner_id; a listing has them in data',
    page: 'unkey.md',
    lists: { data: itself },
    goesOn: unkeyGoesOn,
    row: unkeyRow,
  },
  'better-auth': {
    what: 'the table apikey of better-auth',
    needs: 'key, and userId or referenceId',
    page: 'better-auth.md',
    row: betterAuthRow,
  },
  zuplo: {
    what: 'consumers of Zuplo with visible keys',
    needs: 'name and apiKeys, each with key; a listing has them in data',
    page: 'zuplo.md',
    lists: { data: zuploRecords },
    goesOn: zuploGoesOn,
    records: zuploRecords,
    row: zuploRow,
  },
  kong: {
    what: 'a dump of deck in JSON, or credentials of key-auth',
    needs: 'key and consumer, or consumers with keyauth_credentials',
    page: 'kong.md',
    lists: { data: kongRecords, consumers: kongConsumers },
    goesOn: kongGoesOn,
    records: kongRecords,
    row: kongRow,
  },
  aws: {
    what: 'keys of AWS API Gateway with their values, as JSON or CSV',
    needs: 'name, and key or value; a listing has them in items',
    page: 'aws-api-gateway.md',
    lists: { items: itself },
    goesOn: awsGoesOn,
    row: awsRow,
  },
} as const satisfies Record<string, Format>
export type FormatName = keyof typeof formats

export const isFormatName = (name: string): name is FormatName => Object.hasOwn(formats, name)

import {
  awsRow,
  betterAuthRow,
  kongRecords,
  kongRow,
  plainRow,
  unkeyRow,
  zuploRecords,
  zuploRow,
} from './other-formats.ts'
import { ownRow } from './own-format.ts'
import type { ImportRow, Json, Place } from './rows.ts'

/** What a file may be, by the name that `--format` has for it. */
export interface Format {
  readonly what: string
  /** The page of `docs/migrate` on it. */
  readonly page: string
  /** The records in one of a file, if there are several. */
  readonly records?: (record: Json) => readonly unknown[]
  /** @throws {RowFault | RowRefused | LeftOut} if the record gives no row */
  readonly row: (record: unknown, place: Place) => ImportRow
}

export const formats = {
  keyrail: {
    what: 'an export of this service, or a table of SHA-256 digests',
    page: 'digests.md',
    row: ownRow,
  },
  plain: {
    what: 'a table with the columns key and external_id, hashed on this machine',
    page: 'digests.md',
    row: plainRow,
  },
  unkey: { what: 'keys as Unkey lists them, decrypted, or its table', page: 'unkey.md', row: unkeyRow },
  'better-auth': { what: 'the table apikey of better-auth', page: 'better-auth.md', row: betterAuthRow },
  zuplo: {
    what: 'consumers of Zuplo with visible keys',
    page: 'zuplo.md',
    records: zuploRecords,
    row: zuploRow,
  },
  kong: {
    what: 'a dump of deck in JSON, or credentials of key-auth',
    page: 'kong.md',
    records: kongRecords,
    row: kongRow,
  },
  aws: {
    what: 'keys of AWS API Gateway with their values, as JSON or CSV',
    page: 'aws-api-gateway.md',
    row: awsRow,
  },
} as const satisfies Record<string, Format>
export type FormatName = keyof typeof formats

export const isFormatName = (name: string): name is FormatName => Object.hasOwn(formats, name)

import { importBytesMax, importRowsMax } from '@keyrail/contract/vendor/imports'
import type { Format } from './formats.ts'
import { readRecords } from './read-file.ts'
import { type Fault, type ImportRow, LeftOut, type Place, RowFault, RowRefused } from './rows.ts'

/** Bytes of the rows of one call, with a tenth for what surrounds them. */
const bytesMost = Math.floor(importBytesMax * 0.9)

/** A row and where it stands in the file, or why there is none. */
export type Item =
  | { readonly record: number; readonly row: ImportRow }
  | { readonly record: number; readonly leftOut: LeftOut['why']; readonly ended?: ImportRow }
  | { readonly record: number; readonly part: Partial<ImportRow>; readonly faults: readonly Fault[] }

export interface Batch {
  readonly items: readonly Item[]
  /** How many records of the file are read with this batch. */
  readonly records: number
}

/**
 * The rows of a file for one call after the other.
 * @param skipped records at the start that the service has answered already
 */
export async function* readBatches(
  path: string,
  format: Format,
  skipped: number,
  place: Place,
): AsyncGenerator<Batch> {
  let items: Item[] = []
  let records = 0
  let bytes = 0
  const onMore = () => {
    place.goesOn = true
  }
  for await (const read of readRecords(path, format, onMore)) {
    records += 1
    if (records <= skipped) continue
    const item = 'fault' in read ? refused(records, read.fault) : itemOf(records, read.record, format, place)
    const size = Buffer.byteLength(JSON.stringify(item)) + 1
    if (items.length === importRowsMax || (items.length > 0 && bytes + size > bytesMost)) {
      yield { items, records: records - 1 }
      items = []
      bytes = 0
    }
    items.push(item)
    bytes += size
  }
  if (items.length > 0) yield { items, records }
}

const refused = (record: number, message: string): Item => ({
  record,
  part: {},
  faults: [{ path: '', message }],
})

/** The row of a key that has ended, if it can be looked up. */
const endedOf = ({ row }: LeftOut): { ended?: ImportRow } =>
  row?.digest === undefined ? {} : { ended: row as ImportRow }

function itemOf(at: number, record: unknown, format: Format, place: Place): Item {
  try {
    return { record: at, row: format.row(record, place) }
  } catch (error) {
    if (error instanceof LeftOut) return { record: at, leftOut: error.why, ...endedOf(error) }
    if (error instanceof RowRefused) return { record: at, part: error.row, faults: error.faults }
    if (error instanceof RowFault) return refused(at, error.message)
    throw error
  }
}

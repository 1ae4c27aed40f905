import type { DumpTable } from './format.ts'

/** What a backup does not take along of a table, so that nobody can sign with what stands in it. */
interface LeftOut {
  /** SQL for the rows that it takes. */
  readonly rows: string
  /** Columns that are null in it, with their types. */
  readonly columns: Readonly<Record<string, string>>
}

const leftOut: Readonly<Record<string, LeftOut>> = {
  // The restored service makes a key of its own, so that one which was stolen with a backup is of no use.
  signing_keys: { rows: 'false', columns: {} },
  service_secrets: { rows: 'true', columns: { secret: 'bytea', plain_until: 'timestamptz' } },
}
const nothing: LeftOut = { rows: 'true', columns: {} }

/** A schema older than the sealed form keeps service secrets as they are, and its backup has them so. */
export const leftOutOf = ({ name, columns }: Pick<DumpTable, 'name' | 'columns'>): LeftOut => {
  const found = leftOut[name] ?? nothing
  return name === 'service_secrets' && !columns.includes('sealed') ? nothing : found
}

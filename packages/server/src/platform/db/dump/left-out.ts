/** What a backup leaves out of a table, so that nobody who reads the backup can sign anything. */
interface LeftOut {
  /** SQL for the rows that the backup includes. */
  readonly rows: string
  /** Columns that are null in the backup, with their types. */
  readonly columns: Readonly<Record<string, string>>
}

interface NamedColumns {
  readonly name: string
  readonly columns: readonly string[]
}

const leftOut: Readonly<Record<string, LeftOut>> = {
  // The restored service makes a new key, so that a key stolen with a backup is useless.
  signing_keys: { rows: 'false', columns: {} },
  service_secrets: { rows: 'true', columns: { secret: 'bytea', plain_until: 'timestamptz' } },
}
const nothing: LeftOut = { rows: 'true', columns: {} }

/** A schema from before secrets were sealed has unsealed service secrets, and so has its backup. */
export const leftOutOf = ({ name, columns }: NamedColumns): LeftOut => {
  const found = leftOut[name] ?? nothing
  return name === 'service_secrets' && !columns.includes('sealed') ? nothing : found
}

import type { Db } from '../db/db.ts'

/** What the writers of letters need. */
export interface WriterParts {
  readonly db: Db
  readonly randomBytes: (size: number) => Buffer
  /** The URL below which the pages of mailed links are, without a slash at the end. */
  readonly publicUrl: string
}

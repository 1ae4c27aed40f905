import type { Db } from '../db/pool.ts'

/** What those who write letters are given. */
export interface WriterParts {
  readonly db: Db
  readonly randomBytes: (size: number) => Buffer
  /** Where the pages of mailed links are, without a slash at the end. */
  readonly publicUrl: string
}

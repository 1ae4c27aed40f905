/** How far a backup or restore is. `done` never falls within a step. */
export interface Progress {
  /**
   * `count` tables are counted, `verify` the file is read and held against its checksum, `copy` rows go over.
   * `done` and `total` are tables, bytes and rows.
   */
  step: 'count' | 'verify' | 'copy'
  /** The table that is being copied. */
  table: string | null
  done: number
  total: number
}

export type OnProgress = (progress: Progress) => void

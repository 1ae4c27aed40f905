/** The progress of a backup or restore. `done` never decreases within a step. */
export interface Progress {
  /**
   * `count`: tables are counted; `verify`: the file's checksum is verified; `copy`: rows are copied. `done` and
   * `total` are tables, bytes or rows.
   */
  step: 'count' | 'verify' | 'copy'
  /** The table that is being copied. */
  table: string | null
  done: number
  total: number
}

export type OnProgress = (progress: Progress) => void

import type { Config } from '../../config.ts'
import type { BuildState } from '../../dashboard/dashboard.ts'
import type { PortableConnection } from '../../platform/db/connection.ts'
import type { ProcessFigures } from '../../platform/observe/metrics.ts'

/** The messages between the process that stays root and the one that listens, and between that one and several, as JSON. */

export interface Start {
  kind: 'start'
  config: Config
  connection: PortableConnection
  direct: PortableConnection
  /** What is known of the build of the dashboard. */
  dashboard: BuildState
  /** The place of one of several processes, from 1 on. */
  worker?: number
}

export type ToService =
  | Start
  | { kind: 'leave' }
  /** `isReplaced`: another process serves in its place already. */
  | { kind: 'close'; isReplaced?: boolean }
  /** Starts new processes, one after the other, in place of those that serve. */
  | { kind: 'roll'; config: Config }
  | { kind: 'figures'; id: number; isFirst: boolean }
  | { kind: 'hurry' }
  | { kind: 'toggle debug' }
  /** A file with an address has new content, which the listening process may not be able to read. */
  | { kind: 'value file'; path: string; text: string }
  | { kind: 'dashboard'; state: BuildState }

export type FromService =
  | { kind: 'listening'; url: string; metricsUrl: string | null }
  /** It could not start, or had an uncaught error; the message is for a person. */
  | { kind: 'failed'; message: string }
  /** The wrong process has received a stop signal. */
  | { kind: 'signal'; signal: NodeJS.Signals }
  /** What the process has counted. `id` is that of the question; null: it ends. */
  | { kind: 'figures'; id: number | null; figures: ProcessFigures }

/** Restores bytes. */
export const revive = (text: string): ToService =>
  JSON.parse(text, (_name, value) =>
    value?.type === 'Buffer' && Array.isArray(value.data) ? Buffer.from(value.data) : value,
  )

/** The argument of a listening process that starts several. */
export const several = 'several'

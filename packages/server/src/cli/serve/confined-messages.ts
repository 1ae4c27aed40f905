import type { Config } from '../../config.ts'
import type { BuildState } from '../../dashboard/dashboard.ts'
import type { PortableConnection } from '../../platform/db/connection.ts'

/** The messages between the process that stays root and the one that listens, as JSON. */

export interface Start {
  kind: 'start'
  config: Config
  connection: PortableConnection
  direct: PortableConnection
}

export type ToService =
  | Start
  | { kind: 'leave' }
  | { kind: 'close' }
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

/** Restores bytes. */
export const revive = (text: string): ToService =>
  JSON.parse(text, (_name, value) =>
    value?.type === 'Buffer' && Array.isArray(value.data) ? Buffer.from(value.data) : value,
  )

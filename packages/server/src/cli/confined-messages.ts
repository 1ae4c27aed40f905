import type { Config } from '../config.ts'
import type { PortableConnection } from '../platform/db/connection.ts'

/** What the process that stays root and the one that listens say to each other, as JSON. */

export interface Start {
  kind: 'start'
  config: Config
  connection: PortableConnection
  direct: PortableConnection
}

export type ToService = Start | { kind: 'close' } | { kind: 'hurry' }

export type FromService =
  | { kind: 'listening'; url: string; metricsUrl: string | null }
  /** It could not start, or met an error that nobody caught; for a person to read. */
  | { kind: 'failed'; message: string }
  /** Somebody wants it to stop, and has told the wrong process. */
  | { kind: 'signal'; signal: NodeJS.Signals }

/** Bytes become what they were again. */
export const revive = (text: string): ToService =>
  JSON.parse(text, (_name, value) =>
    value?.type === 'Buffer' && Array.isArray(value.data) ? Buffer.from(value.data) : value,
  )

import type { Statement } from '../connection.ts'

/** What a lane sends: one statement for a whole batch, or a conversation for it. */
export type LaneSpec<In, Out> = LaneTraits<In> &
  ((OneStatement<In, Out> & Sharing<SharedConnections>) | (Conversation<In, Out> & Sharing<'writes'>))

interface OneStatement<In, Out> {
  /** The statement must not raise on data: one bad item would fail the whole batch. */
  readonly statement: Statement
  /** Items to parameters, each an array in the order of the items. */
  values(items: readonly In[]): unknown[]
  /** Rows to one answer for each item, in the order of the items. */
  answers(rows: Row[], items: readonly In[]): Out[]
}

/** For more than one statement: the rows of one statement decide what the next one asks. */
interface Conversation<In, Out> {
  /** One answer for each item, in the order of the items. After a throw an open transaction is rolled back. */
  converse(ask: Ask, items: readonly In[]): Promise<Out[]>
}

export type Row = Record<string, unknown>

/** Sends statements together, in one write. @returns the rows of each statement. */
export type Ask = (
  ...asked: readonly { statement: Statement; values: readonly unknown[] }[]
) => Promise<Row[][]>

/** Which connections a lane has. */
type Sharing<Shared extends SharedConnections> =
  | {
      /** The lane shares the connections of this name with other lanes. */
      readonly shares: Shared
    }
  | {
      /** SQL for a connection that only this lane uses, after the settings of every lane. */
      readonly settings: string
    }

/**
 * - `reads`: for reads that wait for no lock. A batch is sent while other batches are under way, and all are answered in turn.
 * - `rights`: the same for reads that the end of a right waits for, so that they do not wait behind other reads.
 * - `writes`: for statements that may wait for a lock or a standby. A batch has a connection to itself.
 */
export type SharedConnections = 'reads' | 'rights' | 'writes'

interface LaneTraits<In> {
  /** The name of the lane in the metrics. No two lanes have the same name. */
  readonly name: string
  /** A read may be sent again after a lost connection; a write is answered 503, because the store may have executed it. */
  readonly repeatable: boolean
  /** Items of one name are sent once, and the callers of all these items get the same answer. */
  nameOf?(item: In): string
  /** About how many bytes an item takes in a batch. */
  bytesOf?(item: In): number
  /** The party that asks. Parties take turns when more items wait than a batch holds. */
  partyOf?(item: In): string
  /** How many items wait outside the lane, before they enter it. */
  depth?(): number
}

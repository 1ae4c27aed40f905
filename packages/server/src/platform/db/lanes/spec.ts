import type { Statement } from '../connection.ts'

/** What a lane sends: one statement for a whole batch, or a conversation about it. */
export type LaneSpec<In, Out> = LaneTraits<In> &
  ((OneStatement<In, Out> & Sharing<SharedConnections>) | (Conversation<In, Out> & Sharing<'writes'>))

interface OneStatement<In, Out> {
  /** Must not raise on data: one bad item would fail its neighbours. */
  readonly statement: Statement
  /** Items to parameters, each an array in the order of the items. */
  values(items: readonly In[]): unknown[]
  /** Rows to answers, one an item, in the order of the items. */
  answers(rows: Row[], items: readonly In[]): Out[]
}

/** For more than one statement: the rows of one decide what the next one says. */
interface Conversation<In, Out> {
  /** Answers, one an item, in the order of the items. After a throw an open transaction is rolled back. */
  converse(ask: Ask, items: readonly In[]): Promise<Out[]>
}

export type Row = Record<string, unknown>

/** Sends statements together, in one write. @returns the rows of each. */
export type Ask = (
  ...asked: readonly { statement: Statement; values: readonly unknown[] }[]
) => Promise<Row[][]>

/** Which connections a lane has. */
type Sharing<Shared extends SharedConnections> =
  | {
      /** It shares those of this name with other lanes. */
      readonly shares: Shared
    }
  | {
      /** SQL for a connection that it shares with no other lane, behind what every lane sets. */
      readonly settings: string
    }

/**
 * - `reads`: for reads that wait for no lock. A batch is sent while others are under way, and all are answered in turn.
 * - `rights`: the same for reads that the end of a right waits for, so that they wait behind no others.
 * - `writes`: for statements that may wait for a lock or a standby. A batch has one of them to itself.
 */
export type SharedConnections = 'reads' | 'rights' | 'writes'

interface LaneTraits<In> {
  /** Names its entry in the metrics. No two lanes share one. */
  readonly name: string
  /** A read may be sent again after a lost connection; a write is answered 503, for it may have happened. */
  readonly repeatable: boolean
  /** Items of one name are sent once, and all their callers get that answer. */
  nameOf?(item: In): string
  /** About how many bytes an item takes in a batch. */
  bytesOf?(item: In): number
  /** Who asks. Parties take turns when more waits than a batch holds. */
  partyOf?(item: In): string
  /** How many items wait, if they wait somewhere else before they enter the lane. */
  depth?(): number
}

import type { Connection } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane, type Row } from '../platform/db/lane.ts'
import { type Held, keyColumns, nameOfKey } from './record.ts'
import { readAnswers } from './sql.ts'

/** A stored answer that is to be replayed. */
export interface AnswerRef extends Held {
  readonly bytes: number
}

export interface StoredAnswer {
  readonly headers: Record<string, string>
  readonly body: Buffer
}

/** Null: it has expired, or was written over, since the claim said that it is there. */
export type Answers = Lane<AnswerRef, StoredAnswer | null>

/** Reads answers that are small enough to come with others. Many who replay one share it. */
export function openAnswers(connection: Connection, observer: LaneObserver): Answers {
  return openLane<AnswerRef, StoredAnswer | null>(
    connection,
    {
      name: 'idempotency_answer',
      statement: readAnswers,
      repeatable: true,
      nameOf: ref => `${nameOfKey(ref)} ${ref.lockToken}`,
      values: answerColumns,
      answers(rows, refs) {
        const answers: (StoredAnswer | null)[] = refs.map(() => null)
        for (const row of rows) answers[Number(row.place) - 1] = toStoredAnswer(row)
        return answers
      },
      bytesOf: ({ bytes }) => 128 + bytes,
    },
    observer,
  )
}

export const answerColumns = (refs: readonly Held[]): unknown[] => [
  ...keyColumns(refs),
  refs.map(({ lockToken }) => lockToken),
]

export const toStoredAnswer = ({ headers, body }: Row): StoredAnswer => ({
  headers: JSON.parse(String(headers)),
  body: body as Buffer,
})

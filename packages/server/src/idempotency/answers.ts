import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Row } from '../platform/db/lanes/spec.ts'
import { type Held, keyColumns, nameOfKey } from './record.ts'
import { readAnswers } from './sql.ts'

/** Names a stored answer that is to be replayed. */
export interface AnswerRef extends Held {
  readonly bytes: number
}

export interface StoredAnswer {
  readonly headers: Record<string, string>
  readonly body: Buffer
}

/** Null: the answer has expired, or was overwritten, since the claim found it. */
export type Answers = Lane<AnswerRef, StoredAnswer | null>

/** Reads answers that are small enough to share a batch. Callers that replay one answer share it. */
export function openAnswers(lanes: Lanes): Answers {
  return lanes.open<AnswerRef, StoredAnswer | null>({
    name: 'idempotency_answer',
    shares: 'reads',
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
  })
}

export const answerColumns = (refs: readonly Held[]): unknown[] => [
  ...keyColumns(refs),
  refs.map(({ lockToken }) => lockToken),
]

export const toStoredAnswer = ({ headers, body }: Row): StoredAnswer => ({
  headers: JSON.parse(String(headers)),
  body: body as Buffer,
})

import type pg from 'pg'
import { type HoldRows, toListLeg, totalOf } from '../../paging/list-leg.ts'
import type { ReadTx, Work } from '../transaction.ts'
import { Flight, type Leg, toLeg } from './flight.ts'
import { readingLeg, type TimeLimits } from './opening.ts'

/**
 * Reads in one flight, which Postgres runs as one transaction, until the Sync or the first error. So a read costs one round
 * trip, while `transact` needs a second one for its COMMIT.
 */
export async function readAtOnce<T>(
  client: pg.ClientBase,
  workspaceId: string,
  limits: TimeLimits,
  work: Work<T, ReadTx>,
  holdRows: HoldRows | null,
): Promise<T> {
  const hold = totalOf(holdRows)
  const legs = [readingLeg(workspaceId, limits)]
  const asking: ((error: unknown) => void)[] = []
  let hasLeft = false
  const add = (leg: Leg) => {
    if (hasLeft) throw new Error('a read at once gives every statement before its first answer')
    legs.push(leg)
  }
  const working = work({
    workspaceId,
    query: (statement, values) =>
      new Promise((resolve, reject) => {
        add(toLeg(statement, values, resolve as Leg['onRows']))
        asking.push(reject)
      }),
    list: (statement, values, bounds) =>
      new Promise((resolve, reject) => {
        add(toListLeg(statement, values, bounds, hold, { resolve, reject }))
        asking.push(reject)
      }),
    send: (statement, values) => add(toLeg(statement, values)),
  })
  hasLeft = true
  const { landed } = client.query(new Flight(legs))
  landed.catch(error => {
    for (const reject of asking) reject(error)
  })
  // Even if the work fails at the first rows, the connection is free only after the flight has landed.
  await Promise.allSettled([landed, working])
  await landed
  return working
}

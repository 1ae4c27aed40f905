import type pg from 'pg'
import { sendDistinct } from '../batching.ts'
import type { Budgets } from '../budgets.ts'
import type { Connection } from './connection.ts'
import { destroySocket } from './destroy-socket.ts'
import { endRunning } from './end-running.ts'
import { isBroken, isConnectionLost } from './errors.ts'
import { Flight } from './flight.ts'
import type { IdleConnections } from './idle.ts'
import type { Ask, LaneSpec, Row } from './lane-spec.ts'
import { toParameter } from './parameter.ts'
import { connectPrimary } from './timeline.ts'

/**
 * The connection of one lane. It opens with the first batch, and again with the first after it was lost: one that dies while
 * it is idle is forgotten at once, so the next batch is not sent into it.
 */
export interface LaneConnection<In, Out> {
  /**
   * Asks the store about a batch. What shares a name is asked once.
   * @returns answers, one an item, in the order of the items.
   */
  send(items: readonly In[]): Promise<Out[]>
  close(): Promise<void>
}

export function createLaneConnection<In, Out>(
  connection: Connection,
  spec: LaneSpec<In, Out>,
  budgets: Budgets,
  reconnected: (lane: string) => void,
  idle: IdleConnections,
): LaneConnection<In, Out> {
  let client: pg.Client | null = null
  let hadOne = false
  let isBusy = false

  const drop = (lost: pg.Client) => {
    if (client === lost) client = null
    destroySocket(lost)
  }
  /** It broke, unless it was dropped before. */
  const lose = (lost: pg.Client, error: unknown) => {
    if (client !== lost) return
    drop(lost)
    if (isBroken(error)) idle.dropAll()
  }
  idle.add(() => {
    if (client !== null && !isBusy) drop(client)
  })
  const sendEach = async (items: readonly In[]): Promise<Out[]> => {
    if (client === null) {
      const opened = await open(connection, spec, budgets)
      opened.on('error', error => lose(opened, error))
      client = opened
      if (hadOne) reconnected(spec.name)
      hadOne = true
    }
    const own = client
    isBusy = true
    const answering = ask(own, items)
    const late = Promise.withResolvers<never>()
    // By now every caller has its answer, and the next batch takes another connection, once Postgres has ended this one.
    const timer = setTimeout(async () => {
      client = null
      await endRunning(own, answering, budgets.silenceMs)
      late.reject(new Error('Connection terminated'))
    }, budgets.requestMs)
    try {
      return await Promise.race([answering, late.promise])
    } finally {
      clearTimeout(timer)
      isBusy = false
    }
  }
  const ask = async (own: pg.Client, items: readonly In[]): Promise<Out[]> => {
    try {
      if ('converse' in spec) return await spec.converse(askerOf(own), items)
      const { name, text } = spec.statement
      const { rows } = await own.query({ name, text, values: spec.values(items) })
      return spec.answers(rows, items)
    } catch (error) {
      if (isConnectionLost(error)) lose(own, error)
      else if ('converse' in spec) await own.query('rollback').catch(() => drop(own))
      throw error
    }
  }
  return {
    send: items => (spec.nameOf === undefined ? sendEach(items) : sendDistinct(items, spec.nameOf, sendEach)),
    async close() {
      await client?.end()
      client = null
    },
  }
}

const askerOf =
  (client: pg.Client): Ask =>
  async (...asked) => {
    const rows: Row[][] = []
    const legs = asked.map(({ statement, values }, i) => ({
      statement,
      values: values.map(toParameter),
      onRows(own: object[]) {
        rows[i] = own as Row[]
      },
    }))
    await client.query(new Flight(legs)).landed
    return rows
  }

/**
 * A lane looks rows up by their keys, and Postgres plans its statement once. A plan made while a table is small would
 * read the whole table, and stay while the table grows.
 */
const plansForIndexes = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off;
  set enable_hashjoin = off; set enable_mergejoin = off`

async function open(
  connection: Connection,
  spec: Pick<LaneSpec<never, unknown>, 'name' | 'settings'>,
  { laneStatementMs, laneLockMs }: Budgets,
): Promise<pg.Client> {
  // The driver's own pipeline takes no flights, which is how a conversation travels.
  const pipeline = !('converse' in spec)
  const client = await connectPrimary(connection, `lane ${spec.name}`, pipeline)
  await client.query(
    `set statement_timeout = ${laneStatementMs}; set lock_timeout = ${laneLockMs};
     ${plansForIndexes}; ${spec.settings ?? ''}`,
  )
  return client
}

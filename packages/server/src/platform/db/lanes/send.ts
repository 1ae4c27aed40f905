import type pg from 'pg'
import { sendDistinct } from '../../concurrency/batching.ts'
import { isConnectionLost } from '../errors.ts'
import { Flight } from '../pool/flight.ts'
import { toParameter } from '../pool/parameter.ts'
import type { LaneConnections } from './connections.ts'
import type { Ask, LaneSpec, Row } from './spec.ts'

/** Asks the store about a batch. @returns one answer for each item, in the order of the items. */
export type SendBatch<In, Out> = (items: readonly In[]) => Promise<Out[]>

/** Sends items with the same name once. @param reopened is called when a batch opens a connection in place of a lost one. */
export function createSend<In, Out>(
  connections: LaneConnections,
  spec: LaneSpec<In, Out>,
  reopened: () => void,
): SendBatch<In, Out> {
  const send: SendBatch<In, Out> = items =>
    connections.carry((client, giveUp) => ask(client, giveUp, spec, items), reopened)
  const { nameOf } = spec
  return nameOf === undefined ? send : items => sendDistinct(items, nameOf, send)
}

async function ask<In, Out>(
  client: pg.Client,
  giveUp: () => void,
  spec: LaneSpec<In, Out>,
  items: readonly In[],
): Promise<Out[]> {
  if ('statement' in spec) {
    const { name, text } = spec.statement
    const { rows } = await client.query({ name, text, values: spec.values(items) })
    return spec.answers(rows, items)
  }
  try {
    return await spec.converse(askerOf(client), items)
  } catch (error) {
    if (!isConnectionLost(error)) await client.query('rollback').catch(giveUp)
    throw error
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

import { connect } from '../src/platform/db/connection.ts'
import { cancelRunning } from '../src/platform/db/pool/cancel-request.ts'
import { destroySocket } from '../src/platform/db/pool/destroy-socket.ts'
import type { Harness, Heard } from './harness.ts'
import { patientBudgets } from './stores.ts'
import { until } from './until.ts'

/** A Postgres that waits with each commit for a standby which is not there, as long as a test says so. */
export interface AbsentStandby {
  /** `absent`: it waits; nothing: it does not. */
  set(name: 'absent' | ''): Promise<void>
  /** The processes of the service that wait with a commit. */
  waiting(): Promise<number[]>
  /** Makes a call whose commit waits for the standby on a connection of this name, and cancels the wait. */
  cancelWait<T = Heard>(call: () => Promise<T>, connectionName: string): Promise<T>
}

const waits = `select pid from pg_stat_activity where wait_event = 'SyncRep'
  and (application_name in ('keyrail pool', 'keyrail mail') or application_name like 'keyrail lane%')`

export function standbyOf({ query, connection }: Pick<Harness, 'query' | 'connection'>): AbsentStandby {
  /** Whether a commit ends without a standby. The processes of Postgres follow the setting one after the other. */
  const isConfirmed = async (): Promise<boolean> => {
    const client = await connect(connection, 'probe')
    let hasEnded = false
    const end = () => {
      hasEnded = true
    }
    const write = client.query(`select pg_logical_emit_message(true, 'probe', '')`).then(end, end)
    const probing = `select from pg_stat_activity where application_name = 'keyrail probe' and wait_event = 'SyncRep'`
    await until(async () => hasEnded || (await query(probing)).length > 0)
    const isDone = hasEnded
    if (!isDone) await cancelRunning(client, patientBudgets.watchdogMs)
    await write
    destroySocket(client)
    return isDone
  }
  return {
    async set(name) {
      await query(`alter system set synchronous_standby_names = '${name}'`)
      await query('select pg_reload_conf()')
      await until(async () => (await isConfirmed()) === (name === ''))
    },
    waiting: async () => (await query(waits)).map(({ pid }) => pid),
    async cancelWait(call, connectionName) {
      const calling = call()
      const own = `${waits} and application_name = 'keyrail ${connectionName}'`
      await until(async () => (await query(own)).length === 1)
      for (const { pid } of await query(own)) await query('select pg_cancel_backend($1)', [pid])
      return await calling
    },
  }
}

import type { EventEmitter } from 'node:events'
import pg from 'pg'

/** What the driver knows about an open connection, without declaring it. */
interface Known {
  readonly processID: number | null
  readonly secretKey: number | null
  readonly host: string
  readonly port: number
  readonly ssl: pg.ClientConfig['ssl']
  readonly sslNegotiation?: string
}

/** The driver's connection without a session, in the parts that a CancelRequest needs. */
interface Link extends EventEmitter {
  readonly stream: { destroy(): void }
  connect(port: number, host: string): void
  connect(path: string): void
  requestSsl(): void
  cancel(processID: number, secretKey: number): void
}

/**
 * Asks Postgres to end what runs on a connection. Postgres notices that a client has gone only when it writes to the client, so
 * a COMMIT that waits for a lost standby would keep its Postgres process for ever. Postgres takes the request on another
 * connection, and answers by closing that connection.
 * @param withinMs how long Postgres may take. It never throws.
 */
export async function cancelRunning(client: pg.ClientBase, withinMs: number): Promise<void> {
  const { processID, secretKey, host, port, ssl, sslNegotiation } = client as unknown as Known
  if (processID === null || secretKey === null) return
  const link = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as unknown as Link
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const timer = setTimeout(end, withinMs)
  const ask = () => link.cancel(processID, secretKey)
  link.on('connect', () => {
    if (!ssl) ask()
    else if (sslNegotiation !== 'direct') link.requestSsl()
  })
  link.on('sslconnect', ask)
  link.on('error', end)
  link.on('end', end)
  if (host.startsWith('/')) link.connect(`${host}/.s.PGSQL.${port}`)
  else link.connect(port, host)
  await over
  clearTimeout(timer)
  link.stream.destroy()
}

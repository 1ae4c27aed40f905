import type pg from 'pg'

/** Cuts a connection: a polite end would wait for what is under way on it. */
export function destroySocket(client: pg.ClientBase): void {
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}

import type pg from 'pg'

/** Cuts a connection: a normal end would wait for its pending statements. */
export function destroySocket(client: pg.ClientBase): void {
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}

import { type Connection, connect } from './connection.ts'

/**
 * A secret of the service itself, the same in every process: made by the first that asks for it, and
 * readable by the role that owns the tables alone.
 */
export async function serviceSecret(
  connection: Connection,
  name: string,
  randomBytes: (size: number) => Buffer,
): Promise<Buffer> {
  const client = await connect(connection, 'secrets', false)
  try {
    await client.query(
      'insert into service_secrets (name, secret) values ($1, $2) on conflict (name) do nothing',
      [name, randomBytes(32)],
    )
    const { rows } = await client.query('select secret from service_secrets where name = $1', [name])
    return rows[0].secret
  } finally {
    await client.end()
  }
}

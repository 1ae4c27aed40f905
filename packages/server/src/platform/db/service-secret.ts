import { placeOf, queryOf, sealPlain, serviceSecrets } from './sealed-columns.ts'
import { inTransaction, type SealedStore } from './sealed-store.ts'
import { connectPrimary } from './timeline.ts'

/**
 * A secret of the service itself, the same in every process: made by the first that asks for it, sealed, and
 * readable by the role that owns the tables alone.
 * @throws {UnknownKey | SealBroken} when it is there and does not open. No other is made then.
 */
export async function serviceSecret(
  { connection, sealing, plainForS }: SealedStore,
  name: string,
  randomBytes: (size: number) => Buffer,
): Promise<Buffer> {
  const place = placeOf(serviceSecrets, name)
  const client = await connectPrimary(connection, 'secrets', false)
  const query = queryOf(client)
  const read = async () => (await query('select sealed from service_secrets where name = $1', [name]))[0]
  try {
    let found = await read()
    if (found === undefined) {
      await query(
        'insert into service_secrets (name, sealed) values ($1, $2) on conflict (name) do nothing',
        [name, sealing.seal(place, randomBytes(32))],
      )
      found = await read()
    }
    if (found?.sealed === null) {
      // Made a moment ago by a process of the release before.
      await inTransaction(client, () => sealPlain(query, sealing, plainForS))
      found = await read()
    }
    return sealing.open(place, found?.sealed as Buffer)
  } finally {
    await client.end()
  }
}

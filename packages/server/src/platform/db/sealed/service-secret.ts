import { patientAtStart } from '../connection.ts'
import { connectPrimary } from '../failover/timeline.ts'
import { placeOf, queryOf, sealPlain, serviceSecrets } from './columns.ts'
import { inTransaction, type SealedStore } from './store.ts'

/**
 * A secret of the service itself, the same in every process: the first process that asks makes the secret. It is sealed, and
 * only the role that owns the tables can read it.
 * @throws {UnknownKey | SealBroken} if the secret exists and does not open. No new secret is made then.
 */
export async function serviceSecret(
  { connection, sealing, plainForS }: SealedStore,
  name: string,
  randomBytes: (size: number) => Buffer,
): Promise<Buffer> {
  const place = placeOf(serviceSecrets, name)
  const client = await connectPrimary(patientAtStart(connection), 'secrets', false)
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
      // A process of the previous release has just made the secret.
      await inTransaction(client, () => sealPlain(query, sealing, plainForS))
      found = await read()
    }
    return sealing.open(place, found?.sealed as Buffer)
  } finally {
    await client.end()
  }
}

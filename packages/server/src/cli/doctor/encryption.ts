import type { Config } from '../../config.ts'
import { countPlain, keysInUse, queryOf } from '../../platform/db/sealed/columns.ts'
import { type CommandDatabase, withClient } from '../database.ts'
import { givenKeys, missingKey } from '../encryption-key.ts'
import { explain } from '../failure.ts'
import type { Check } from './check.ts'

/** Checks that there is a key to seal secrets with. */
export function checkEncryptionKey(config: Config): Check {
  const name = 'encryption key'
  try {
    const { keys, path } = givenKeys(config)
    const [first, ...others] = keys
    if (first !== undefined) {
      const place =
        path === null ? 'set by SERVICE_ENCRYPTION_KEY' : `in ${path}; keep a copy, apart from backups`
      const more = others.length === 0 ? '' : `, and ${others.length} that only open`
      return { name, status: 'ok', message: `${first.id}${more}, ${place}` }
    }
    if (path !== null) {
      return { name, status: 'warning', message: `${path} does not exist yet`, todo: 'npm start makes one.' }
    }
    const [message = '', ...todo] = missingKey.split('\n')
    return { name, status: 'fault', message, todo: todo.join('\n') }
  } catch (error) {
    return { name, status: 'fault', message: explain(error) }
  }
}

/** The schema is from before secrets were sealed. */
const undefinedColumn = '42703'

/** Checks that every secret in the database is sealed, with a key that is given. */
export async function checkSealed(config: Config, { direct }: CommandDatabase): Promise<Check> {
  const name = 'sealed secrets'
  try {
    return await withClient(direct, async client => {
      const query = queryOf(client)
      const [first, ...others] = givenKeys(config).keys.map(({ id }) => id)
      const used = await keysInUse(query)
      const unknown = used.filter(({ keyId }) => keyId !== first && !others.includes(keyId))
      const older = used.filter(({ keyId }) => others.includes(keyId))
      const plain = await countPlain(query)
      const sum = (counts: typeof used) => counts.reduce((all, { values }) => all + values, 0)
      if (unknown.length > 0) {
        return {
          name,
          status: 'fault',
          message: `${sum(unknown)} are sealed with ${unknown.map(({ keyId }) => keyId).join(', ')}, which is not given`,
          todo: 'Add that key behind the one that seals. If it is lost for good: keyrail encryption rotate --discard',
        }
      }
      if (plain > 0) {
        const message = `${plain} from the previous release are not sealed, or still have an unsealed copy`
        return {
          name,
          status: 'warning',
          message,
          todo: 'npm start seals them, and removes the unsealed copies an hour later.',
        }
      }
      if (older.length > 0) {
        const message = `${sum(older)} are sealed with ${older.map(({ keyId }) => keyId).join(', ')}, an older key`
        return { name, status: 'warning', message, todo: 'keyrail encryption rotate' }
      }
      return { name, status: 'ok', message: `all ${sum(used)} are sealed with the first key` }
    })
  } catch (error) {
    if ((error as { code?: unknown }).code === undefinedColumn) {
      return { name, status: 'warning', message: 'not sealed yet', todo: 'keyrail migrate' }
    }
    return { name, status: 'fault', message: explain(error) }
  }
}

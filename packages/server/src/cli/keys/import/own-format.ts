import { CommandFailed } from '../../failure.ts'
import {
  customerOf,
  type ImportRow,
  type Json,
  jsonOf,
  LeftOut,
  metaOf,
  needed,
  objectOf,
  type Place,
  RowFault,
  rowOf,
  textOf,
} from './rows.ts'
import { timeOf } from './times.ts'

/** SHA-256 in hex, base64 or base64url, perhaps behind a name, as in `sha256:…`, `sha256$…`, `\x…` and `0x…`. */
const digestForm = /^(?:sha-?256[:$=]|\\x|0x|\{sha256\})?([A-Za-z0-9+/_-]{43}=?|[0-9a-fA-F]{64})$/i

export const isDigest = (value: string): boolean => digestForm.test(value)

/** @throws {RowFault} for another hash, which no look-up can find */
export function readDigest(value: string, member: string): string {
  const [, digest] = digestForm.exec(value) ?? []
  if (digest !== undefined) return digest
  const other = /^\$(2[aby]|argon2\w{0,2}|scrypt|pbkdf2(?:[-_]\w{1,10})?)\$/i.exec(value)?.[1]
  throw new RowFault(
    other === undefined
      ? `${member} is not a SHA-256 in hex or base64`
      : `${member} is a salted hash (${other}), which cannot be looked up: import such keys at their first use`,
  )
}

/** Members beside those of a row: of an export, and of a file of failed rows. */
const others = ['object', 'id', 'project_id', 'env', 'record', 'import', 'errors', 'ended', 'hash'] as const

/**
 * Rows of the service's own export, of a file of failed rows, and of a table of digests. A column of a CSV has lists with commas
 * or spaces between them, and JSON in `meta` and `rate_limits`.
 */
export function ownRow(record: unknown, place: Place): ImportRow {
  const given = objectOf(record)
  leaveOutOthers(given, place)
  const text = (name: string) => () => textOf(given[name])
  const list = (name: string) => () => listOf(given[name])
  const time = (name: string) => () => timeOf(given[name], name)
  const readers = {
    tenant_id: text('tenant_id'),
    external_id: () => (isOfKeyrail(given) ? exactOf : customerOf)(given.external_id),
    digest: () => readDigest(needed(textOf(given.digest ?? given.hash), 'digest'), 'digest'),
    display_prefix: text('display_prefix'),
    source_id: text('source_id'),
    name: text('name'),
    scopes: list('scopes'),
    meta: () => metaOf(given.meta, 'meta'),
    rate_limits: () => limitsOf(jsonOf(given.rate_limits, 'rate_limits')),
    allowed_cidrs: list('allowed_cidrs'),
    expires_at: time('expires_at'),
    created_at: time('created_at'),
    disabled_at: time('disabled_at'),
  }
  const known = new Set<string>([...Object.keys(readers), ...others])
  // A table without a line of names has values there, so that none is said.
  if (Object.keys(given).some(name => !known.has(name)))
    throw new RowFault(`it has a member that is none of ${[...known].join(', ')}`)
  return rowOf(readers, given.ended === true ? 'the key has ended' : null)
}

/** Whether it is a line of an export or of a file of failed rows, which have each id as it is. */
const isOfKeyrail = ({ object, errors }: Json): boolean => object === 'exported_key' || Array.isArray(errors)

const exactOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : textOf(value)

/** An export has keys of both environments, and may have several projects. */
function leaveOutOthers(given: Readonly<Record<string, unknown>>, place: Place): void {
  const env = textOf(given.env)
  if (env !== undefined && env !== 'live' && env !== 'test')
    throw new RowFault('env is neither live nor test')
  if (env !== undefined && env !== place.env)
    throw new LeftOut('others', 'the key is of the other environment')
  const project = textOf(given.project_id)?.toLowerCase()
  if (project === undefined) return
  const wanted = place.from ?? place.seen ?? project
  place.seen = wanted
  if (project === wanted) return
  if (place.from !== null) throw new LeftOut('others', 'the key is of another project')
  throw new CommandFailed('The file has keys of several projects. Name the id of one with --from.')
}

function limitsOf(value: unknown): unknown[] | undefined {
  if (value === undefined || Array.isArray(value)) return value
  throw new RowFault('rate_limits is not a list')
}

function listOf(value: unknown): string[] | undefined {
  // A member of a list that is no text is refused by the service.
  if (Array.isArray(value)) return value as string[]
  const text = textOf(value)
  return text?.split(/[\s,]+/).filter(part => part !== '')
}

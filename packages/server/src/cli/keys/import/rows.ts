import { createHash } from 'node:crypto'
import { importedPrefixMax } from '@keyrail/contract/vendor/imports'

/** A row as `POST /v1/keys/import` takes it. */
export interface ImportRow {
  tenant_id?: string
  external_id?: string
  digest: string
  display_prefix?: string
  source_id?: string
  name?: string
  scopes?: string[]
  meta?: Record<string, unknown>
  rate_limits?: unknown[]
  allowed_cidrs?: string[]
  expires_at?: string
  created_at?: string
  disabled_at?: string
}

/** One member of a record that cannot be read. The message has no value of the record, which may be a key. */
export class RowFault extends Error {}

/** A record that gives no row on purpose: its key no longer works, or is of another environment or project. */
export class LeftOut extends Error {
  readonly why: 'ended' | 'others'
  /** Of a key that has ended, the members that could be read: it may have been imported before. */
  readonly row: Partial<ImportRow> | null

  constructor(why: 'ended' | 'others', message: string, row: Partial<ImportRow> | null = null) {
    super(message)
    this.why = why
    this.row = row
  }
}

export interface Fault {
  readonly path: string
  readonly message: string
}

/** A record that gives no row because of its faults, with the members that could be read. */
export class RowRefused extends Error {
  readonly row: Partial<ImportRow>
  readonly faults: readonly Fault[]

  constructor(row: Partial<ImportRow>, faults: readonly Fault[]) {
    super('the row has faults')
    this.row = row
    this.faults = faults
  }
}

/** Where the rows of a file go, and which of them. */
export interface Place {
  readonly now: number
  readonly env: 'live' | 'test'
  /** Of an export, the project whose keys are taken. Null: it has one alone. */
  readonly from: string | null
  /** When the file was written, in milliseconds: times that a listing counts from now are counted from there. */
  readonly listedAt: number
  /** The one project that an export has had so far. */
  seen: string | null
  /** Whether the last page of the file says that others follow. */
  goesOn?: boolean
}

type Readers = { readonly [Name in keyof ImportRow]?: () => ImportRow[Name] | undefined }

/**
 * Reads a row member by member, so that a fault of one hides no other.
 * @param ended why the key no longer works in its own system; null: it works, or one of the members says so
 * @throws {RowRefused}
 * @throws {LeftOut}
 */
export function rowOf(members: Readers, ended: string | null = null): ImportRow {
  const row: Record<string, unknown> = {}
  const faults: Fault[] = []
  let left = ended
  for (const [path, read] of Object.entries(members)) {
    try {
      const value = read()
      if (value !== undefined) row[path] = value
    } catch (error) {
      if (error instanceof RowFault) faults.push({ path, message: error.message })
      else if (error instanceof LeftOut) left ??= error.message
      else throw error
    }
  }
  if (left !== null) throw new LeftOut('ended', left, row)
  if (faults.length > 0) throw new RowRefused(row, faults)
  return row as unknown as ImportRow
}

export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws {RowFault} if the value is no object */
export function objectOf(value: unknown): Json {
  if (!isObject(value)) throw new RowFault('the record is not an object')
  return value
}

/**
 * A text, trimmed; undefined for an absent, null or empty one. Numbers are ids that a database wrote without quotes.
 * @throws {RowFault} if it is anything else, or a number that JSON does not keep as it was written
 */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'number')
    throw new RowFault('a number loses digits when it is read: write it in quotes')
  if (typeof value !== 'string') throw new RowFault('a text is needed where something else stands')
  const text = value.trim()
  return text === '' ? undefined : text
}

/**
 * The id of a customer. Trimmed, it could be the id of another one, whose keys would then act for both.
 * @throws {RowFault} if white space stands around it
 */
export function customerOf(value: unknown): string | undefined {
  const text = textOf(value)
  if (typeof value !== 'string' || value === '' || value === text) return text
  throw new RowFault('white space stands around the id of the customer, which may be another one without it')
}

/** @throws {RowFault} naming the member */
export function needed(value: string | undefined, member: string): string {
  if (value === undefined) throw new RowFault(`${member} is missing`)
  return value
}

/** What a server takes as an imported key. */
const keyForm = /^[!-~]{1,512}$/

/** The SHA-256 of a key, so that the key itself leaves no machine. */
export function digestOf(key: string | undefined, member: string): string {
  const text = needed(key, member)
  if (!keyForm.test(text)) throw new RowFault(`${member} is not 1 to 512 visible ASCII characters`)
  return createHash('sha256').update(text).digest('hex')
}

/** The first characters of a key, for people: never more than a third of it. */
export const prefixOf = (key: string | undefined): string | undefined =>
  shownOf(key?.slice(0, Math.min(8, Math.floor(key.length / 3))))

/** The part of a key that its system shows; undefined if it has a character that no service takes there. */
export function shownOf(text: string | undefined): string | undefined {
  const shown = text?.slice(0, importedPrefixMax)
  return shown !== undefined && /^[!#-[\]-~]+$/.test(shown) ? shown : undefined
}

/** JSON in a column of a table; undefined for an empty one. @throws {RowFault} naming the member */
export function jsonOf(value: unknown, member: string): unknown {
  if (typeof value !== 'string') return value ?? undefined
  if (value.trim() === '') return undefined
  try {
    return JSON.parse(value)
  } catch {
    throw new RowFault(`${member} is not JSON`)
  }
}

/** JSON in a column that is an object; undefined for an empty one. @throws {RowFault} naming the member */
export function metaOf(value: unknown, member: string): Json | undefined {
  const meta = jsonOf(value, member)
  // Some systems store JSON as a text inside of JSON.
  const inner = typeof meta === 'string' ? jsonOf(meta, member) : meta
  if (inner === undefined || inner === null) return undefined
  if (!isObject(inner)) throw new RowFault(`${member} is not an object`)
  if (losesDigits(inner))
    throw new RowFault(`a number in ${member} loses digits when it is read: write it in quotes`)
  return Object.keys(inner).length === 0 ? undefined : inner
}

/** Whether a value has a number that is too large to be kept. */
function losesDigits(value: unknown): boolean {
  if (typeof value === 'number')
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
  return typeof value === 'object' && value !== null && Object.values(value).some(losesDigits)
}

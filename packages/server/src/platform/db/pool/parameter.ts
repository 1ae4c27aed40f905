/** A value as it is sent: text, or bytes for bytea. */
export type Parameter = string | Buffer | null

/**
 * Turns a statement's value into text that Postgres reads. Times are UTC; an array may contain text, bytes and null.
 * @throws {TypeError} for any other value: the caller makes JSON, because the caller knows the column.
 */
export function toParameter(value: unknown): Parameter {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return `{${value.map(toElement).join(',')}}`
  throw new TypeError(`a statement cannot take a ${typeof value}`)
}

/** Quoted, so that commas, braces, blanks and the word null have no meaning inside. */
function toElement(item: unknown): string {
  if (item === null || item === undefined) return 'NULL'
  // The backslash of bytea in hex, escaped.
  if (Buffer.isBuffer(item)) return `"\\\\x${item.toString('hex')}"`
  if (typeof item !== 'string' && typeof item !== 'number')
    throw new TypeError(`an array of a statement cannot hold a ${typeof item}`)
  const text = String(item)
  // Most values are ids, which need no escape, and a check costs a third of a replacement.
  if (!text.includes('"') && !text.includes('\\')) return `"${text}"`
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

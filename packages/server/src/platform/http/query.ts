import type { TSchema } from 'typebox'
import { invalidField } from '../refusal.ts'
import { shownName } from './shown-name.ts'

/**
 * Splits a query string into a Map, so `__proto__` is an ordinary name. A malformed value becomes null and is
 * not refused here, because only known parameters are refused.
 */
function splitQuery(text: string): Map<string, (string | null)[]> {
  const query = new Map<string, (string | null)[]>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const cut = pair.indexOf('=')
    const name = decode(cut === -1 ? pair : pair.slice(0, cut))
    if (name === null) continue
    const values = query.get(name) ?? []
    values.push(cut === -1 ? '' : decode(pair.slice(cut + 1)))
    query.set(name, values)
  }
  return query
}

function decode(text: string): string | null {
  if (!/[%+\0]/.test(text)) return text
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    return decoded.includes('\0') ? null : decoded
  } catch {
    return null
  }
}

/**
 * Reads the known parameters of a query, integers as numbers, and ignores unknown ones, unless the schema is strict. An integer is
 * decimal digits and nothing else. A repeated parameter is refused, because two readers might take different values.
 * @throws {Refusal} `validation_failed` naming the parameter.
 */
export function readQuery(text: string, schema: TSchema): Record<string, unknown> {
  const { properties, additionalProperties } = schema as Parameters
  const result: Record<string, unknown> = {}
  if (properties === undefined) return result
  const query = splitQuery(text)
  if (additionalProperties === false)
    for (const name of query.keys())
      if (name !== '' && !Object.hasOwn(properties, name))
        throw invalidField(shownName(name), 'is not a known parameter')
  for (const [name, property] of Object.entries(properties)) {
    const values = query.get(name)
    if (values === undefined) {
      if (property.default !== undefined) result[name] = property.default
      continue
    }
    if (property.type === 'array') {
      result[name] = readList(name, values)
      continue
    }
    const [value] = values
    if (values.length > 1) throw invalidField(name, 'must be given once')
    if (value === null || value === undefined) throw invalidField(name, 'is not valid percent-encoded UTF-8')
    result[name] = property.type === 'integer' ? readInteger(name, value) : value
  }
  return result
}

interface Parameters {
  properties?: Record<string, Parameter>
  additionalProperties?: boolean
}

interface Parameter {
  type?: string
  default?: unknown
}

/** Repeated, comma-separated, or both: `a=1&a=2` and `a=1,2` are the same list. */
function readList(name: string, values: readonly (string | null)[]): string[] {
  return values.flatMap(value => {
    if (value === null) throw invalidField(name, 'is not valid percent-encoded UTF-8')
    return value.split(',')
  })
}

function readInteger(name: string, value: string): number {
  if (!/^(?:0|-?[1-9]\d{0,14})$/.test(value))
    throw invalidField(name, 'must be a whole number in decimal digits')
  return Number(value)
}

import type { FieldFault } from '@keyrail/contract/errors'
import { nameFault } from '@keyrail/contract/names'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import type { TSchema } from 'typebox'
import { Refusal } from '../refusal.ts'
import { shownName } from './shown-name.ts'

/**
 * Validates every body and query against the contract's JSON Schemas; it coerces and removes nothing. It stops
 * at the first fault: with `allErrors`, one megabyte of faults would take seconds.
 */
const ajv = new Ajv2020({
  allErrors: false,
  coerceTypes: false,
  removeAdditional: false,
  strict: true,
  strictTypes: false,
  // An error then has the violated limit, which the response shows.
  verbose: true,
  // A test checks every schema against the meta-schema, whose compilation would take a tenth of each start.
  meta: false,
  validateSchema: false,
})

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string) => uuid.test(text)

const timestamp =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** RFC 3339 with a zone, and a date that exists: `Date` would read 30 February as 1 March. */
export function isTimestamp(text: string): boolean {
  const parts = timestamp.exec(text)
  if (parts === null) return false
  const [year, month, day] = parts.slice(1, 4).map(Number) as [number, number, number]
  const lastDay = new Date(Date.UTC(2000, month, 0)).getUTCDate()
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  if (month < 1 || month > 12 || day < 1 || day > (month === 2 && !leap ? 28 : lastDay)) return false
  const utcYear = new Date(text).getUTCFullYear()
  return utcYear >= 1 && utcYear <= 9999
}

ajvFormats.default(ajv, ['email'])
ajv.addFormat('uuid', isUuid)
ajv.addFormat('date-time', isTimestamp)
// The library's own keywords count the characters of every text, even if its length in bytes decides.
for (const [keyword, isWithin] of [
  ['maxLength', isAtMost],
  ['minLength', (least: number, text: string) => !isAtMost(least - 1, text)],
] as const) {
  ajv.removeKeyword(keyword)
  ajv.addKeyword({ keyword, type: 'string', schemaType: 'number', validate: isWithin })
}

/** Whether a text has at most so many characters. A character is a code point, which can be two UTF-16 units. */
function isAtMost(most: number, text: string): boolean {
  if (text.length <= most) return true
  if (text.length > 2 * most) return false
  let pairs = 0
  for (let i = 0; i < text.length; i++) if ((text.codePointAt(i) ?? 0) > 0xffff) pairs += 1
  return text.length - pairs <= most
}

ajv.addKeyword({
  keyword: 'x-name',
  type: 'string',
  validate: (_: true, text: string) => nameFault(text) === null,
})
ajv.addKeyword({
  keyword: 'x-unique-by',
  type: 'array',
  validate: (member: string, items: Record<string, unknown>[]) =>
    new Set(items.map(item => item?.[member])).size === items.length,
})
ajv.addKeyword({
  keyword: 'x-unique',
  type: 'array',
  validate: (_: true, items: unknown[]) => new Set(items).size === items.length,
})
ajv.addKeyword({
  keyword: 'x-max-bytes',
  type: 'object',
  validate: (most: number, value: object) => Buffer.byteLength(JSON.stringify(value)) <= most,
})
// Only shown: the service judges each of these objects by itself.
ajv.addKeyword({ keyword: 'x-shape', schemaType: 'object' })
ajv.addKeyword({ keyword: 'x-max-members', type: 'object', validate: membersWithin })

function membersWithin(most: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (!Array.isArray(value) && Object.keys(value).length > most) return false
  return Object.values(value).every(inner => membersWithin(most, inner))
}

export type Validate = (value: unknown) => void

/**
 * @returns a function that throws `validation_failed` naming the failing path. `root` names the whole. It
 * compiles on its first call: compiling all schemas at once would take a third of the start.
 */
export function compile(schema: TSchema, root: string): Validate {
  const { members, choice } = split(schema)
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile(members)
    const isValid = validate(value)
    const [error] = validate.errors ?? []
    const fault = isValid ? choice?.(value as object) : error && faultOf(error, root)
    if (isValid && !fault) return
    const { path, message } = fault ?? { path: root, message: 'is not valid' }
    throw new Refusal('validation_failed', `${path}: ${message}`, { faults: [{ path, message }] })
  }
}

interface Split {
  members: TSchema
  /** The fault of a body that violates the choice of members. */
  choice: ((value: object) => FieldFault | null) | null
}

/**
 * Takes the rules about which members are required (`oneOf`) or exclude each other (`not`) out of a schema. The
 * library would check them first, and its messages name no path.
 */
function split(schema: TSchema): Split {
  const { oneOf, not, ...members } = schema as { oneOf?: Required[]; not?: Required }
  const names = not?.required ?? oneOf?.flatMap(({ required = [] }) => required) ?? []
  const [first, ...others] = names
  if (first === undefined) return { members: schema, choice: null }
  const choice = (value: object) => {
    const given = names.filter(name => Object.hasOwn(value, name))
    if (given.length > 1) return { path: given[1] as string, message: `must not be given beside ${given[0]}` }
    if (given.length === 0 && oneOf) return { path: first, message: `is required, or ${others.join(' or ')}` }
    return null
  }
  return { members, choice }
}

type Required = { required?: string[] }

function faultOf(error: ErrorObject, root: string): FieldFault {
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const at = (more?: string) =>
    [...steps, ...(more === undefined ? [] : [more])].map(shownName).join('.') || root
  const { keyword, params, propertyName, parentSchema = {} } = error
  /** The value of the keyword in the schema. */
  const bound: unknown = parentSchema[keyword]
  switch (keyword) {
    case 'required':
      return { path: at(params.missingProperty), message: 'is required' }
    case 'dependentRequired':
      return { path: at(params.property), message: `is only allowed beside ${params.missingProperty}` }
    case 'additionalProperties':
      return { path: at(params.additionalProperty), message: 'is not a known field' }
    case 'minProperties':
      return { path: at(), message: 'must have at least one field' }
    case 'enum':
      return { path: at(), message: `must be one of ${params.allowedValues.join(', ')}` }
    case 'format':
      return { path: at(), message: `must be a valid ${nameOf(params.format, error.data)}` }
    case 'maxLength':
      return { path: at(propertyName), message: `must not have more than ${bound} characters` }
    case 'minLength':
      return { path: at(propertyName), message: `must not have fewer than ${bound} characters` }
    case 'x-name':
      return { path: at(), message: nameFault(String(error.data)) ?? 'is not valid' }
    case 'x-unique-by':
      return { path: at(), message: 'rate limit ids must be unique' }
    case 'x-unique':
      return { path: at(), message: 'must not contain duplicates' }
    case 'x-max-bytes':
      return { path: at(), message: `must have at most ${bound} bytes as JSON` }
    case 'x-max-members':
      return { path: at(), message: `must have at most ${bound} members a level` }
    default:
      return {
        // A refused name is part of the path, even if it is in no member.
        path: at(propertyName),
        message: (error.message ?? 'is not valid').replace('must NOT have', 'must not have'),
      }
  }
}

/** For a real address that the service refuses, the message names the refused part. */
function nameOf(format: string, data: unknown): string {
  if (format === 'email' && typeof data === 'string' && !isAscii.test(data))
    return 'e-mail address in ASCII; write a domain beyond it in its xn-- form'
  return formatNames[format] ?? format
}
const isAscii = /^[\p{ASCII}]*$/u

const formatNames: Record<string, string> = {
  uuid: 'UUID',
  email: 'e-mail address',
  'date-time': 'RFC 3339 time with Z or an offset',
}

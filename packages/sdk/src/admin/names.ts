import { wrongName } from '../http/right-name.ts'
import { KeyrailError } from '../runtime/errors.ts'

/** The service's names are in snake_case and those of this package in camelCase. `request.ts` and `export.ts` convert them. */

/** Members with JSON of the vendor, or of the audit log as it is stored and hashed. What they contain has no other names. */
type Opaque = 'meta' | 'payload' | 'details'
/** In a path, or as the whole of it. */
const opaque = /(?:^|\.)(?:meta|payload|details)(?:\.|$)/

/** Levels of an answer. The service has fewer; what something else nests deeper stays as it is. */
const LEVELS_MAX = 32

type CamelName<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelName<Rest>>}`
  : Name

/** A type of the service with the names of this package. */
export type Camel<T> = T extends readonly (infer Item)[]
  ? Camel<Item>[]
  : T extends object
    ? {
        [Name in keyof T as CamelName<Name>]: Name extends Opaque ? T[Name] : Camel<T[Name]>
      }
    : T

/** Names in camelCase; `write-types.ts` writes types with it. */
export const camel = (text: string): string =>
  text.replaceAll(/(?<=[a-z\d])_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const snake = (name: string): string =>
  name.replaceAll(/(?<=[a-z\d])[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/**
 * A body or query for the service. A name of the service is refused, although it would work: the answer would have another name for
 * the same member.
 *
 * @throws TypeError naming the right one
 */
export const toService = <T>(value: T): T =>
  renamed(
    value,
    name => {
      const right = camel(name)
      if (right !== name) throw wrongName('This call', 'field', name, right)
      return snake(name)
    },
    Number.POSITIVE_INFINITY,
  )

/** An answer of the service, also with members that this version does not know. */
export const fromService = <T>(value: T): T => renamed(value, camel, LEVELS_MAX)

function renamed<T>(value: T, rename: (name: string) => string, levels: number): T
function renamed(given: unknown, rename: (name: string) => string, levels: number): unknown {
  // As `JSON.stringify` does, so that a body may have a `Date`.
  const { toJSON } = (given ?? {}) as { toJSON?: unknown }
  const value: unknown = typeof toJSON === 'function' ? toJSON.call(given) : given
  if (typeof value !== 'object' || value === null || levels === 0) return value
  const inner = (member: unknown) => renamed(member, rename, levels - 1)
  if (Array.isArray(value)) return value.map(inner)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      opaque.test(name) ? [name, member] : [rename(name), inner(member)],
    ),
  )
}

/** An error of the service with the names of the caller: `rateLimits.0.windowMs`. */
export function errorFromService(error: unknown): unknown {
  if (!(error instanceof KeyrailError) || error.errors.length === 0) return error
  let { message: text } = error
  const errors = error.errors.map(({ path, message }) => {
    const fault = faultFromService({ path, message })
    // A long message is cut there.
    text = text.replace(` ${path}: `, () => ` ${fault.path}: `).replace(message, () => fault.message)
    return fault
  })
  return new KeyrailError(error.code, text, { ...error, errors })
}

interface Fault {
  path: string
  message: string
}

/** What is wrong with a field, with the names of the caller. */
export const faultFromService = ({ path, message }: Fault): Fault => ({
  path: pathFromService(path),
  message: isOfValues.test(message) ? message : camel(message),
})

/** Messages that quote values of the service. All others may quote names, as in `must not be given beside tenant_id`. */
const isOfValues = /^must (?:be one of|match) /

function pathFromService(path: string): string {
  const end = path.search(opaque)
  return end < 0 ? camel(path) : camel(path.slice(0, end)) + path.slice(end)
}

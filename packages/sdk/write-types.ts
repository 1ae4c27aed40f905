import { readFileSync } from 'node:fs'
import { camel } from './src/admin/names.ts'

/**
 * Writes out the types of the contract from its schemas, so that the package needs neither the contract nor its
 * schema library.
 */

/** The part of JSON Schema that the contract uses. */
interface Schema {
  type?: string | readonly string[]
  const?: unknown
  enum?: readonly unknown[]
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  description?: string
}

/** A shorter type is written where it is used, even if it has its own name. */
const worthNaming = 14
/** An object with fewer members is written out, even if it contains all members of another. */
const membersWorthNaming = 5
/** The members of every list, which are worth naming although they are few. */
const paging = 'Paging'

/**
 * Declarations for a source of lines such as `export type Key = Static<typeof keys.Key>`. Names are in camelCase in
 * `Camel<Static<typeof keys.Key>>`.
 */
export async function declarationsOf(source: string): Promise<string> {
  const text = readFileSync(source, 'utf8')
  const modules = new Map<string, Readonly<Record<string, Schema>>>()
  for (const [, name = '', from = ''] of text.matchAll(/^import type \* as (\w+) from '([^']+)'$/gm)) {
    modules.set(name, await import(from))
  }
  const schemas = text
    .split('\n')
    .filter(line => line.startsWith('export '))
    .map(line => {
      const [, name, isCamel, from = '', schema = ''] =
        /^export type (\w+) = (Camel<)?Static<typeof (\w+)\.(\w+)>>?$/.exec(line) ?? []
      const found = modules.get(from)?.[schema]
      if (name === undefined || found === undefined) throw new Error(`cannot write out: ${line}`)
      return { name, schema: isCamel ? inCamel(found) : found }
    })
  /** The first name of each type, by its text. */
  const names = new Map<string, string>()
  for (const { name, schema } of schemas) {
    const whole = wholeOf(schema)
    if (whole.length > worthNaming && !names.has(whole)) names.set(whole, name)
  }
  const nameOf = (schema: Schema) => names.get(wholeOf(schema)) ?? null
  const declarations = schemas.map(({ name, schema }) => {
    const same = nameOf(schema)
    if (same !== null && same !== name) return `export type ${name} = ${same};`
    const base = widest(schemas.filter(other => extendsOther(schema, other)))
    const text =
      base === null ? bodyOf(schema, nameOf) : `${base.name} & ${without(schema, base.schema, nameOf)}`
    return `${isNamedWithComment(schema) ? commentOf(schema) : ''}export type ${name} = ${text};`
  })
  return `${declarations.join('\n')}\n`
}

/** A schema with names in camelCase, also where a description quotes one. Opaque objects have no properties. */
function inCamel(schema: Schema): Schema {
  const { properties, required, items, anyOf, description } = schema
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [camel(name), inCamel(member)]),
      ),
    }),
    ...(required && { required: required.map(camel) }),
    ...(items && { items: inCamel(items) }),
    ...(anyOf && { anyOf: anyOf.map(inCamel) }),
    ...(description && { description: description.replaceAll(/(?<=`)[a-z]+_[a-z_]+(?=[`=])/g, camel) }),
  }
}

interface Named {
  readonly name: string
  readonly schema: Schema
}

/** Whether an object has all members of another, unchanged, and more. */
function extendsOther(schema: Schema, other: Named): boolean {
  const [own, inherited] = [membersOf(schema), membersOf(other.schema)]
  return (
    (inherited.size >= membersWorthNaming || other.name === paging) &&
    own.size > inherited.size &&
    [...inherited].every(([name, text]) => own.get(name) === text)
  )
}

const widest = (some: readonly Named[]): Named | null =>
  some.toSorted((a, b) => membersOf(b.schema).size - membersOf(a.schema).size)[0] ?? null

const without = ({ properties = {}, required }: Schema, base: Schema, nameOf: NameOf): string =>
  objectType(
    {
      properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !base.properties?.[name])),
      ...(required && { required }),
    },
    nameOf,
  )

/** The text of each member of an object, by its name. */
const membersOf = ({ type, properties = {}, required = [] }: Schema) =>
  new Map(
    Object.entries(type === 'object' ? properties : {}).map(([name, schema]) => [
      name,
      `${required.includes(name)} ${schema.description} ${bodyOf(schema, () => null)}`,
    ]),
  )

/** A type without members has its comment where it is declared. Where it is used, its name says as much. */
const isNamedWithComment = ({ type, properties, description }: Schema): boolean =>
  type === 'object' && properties === undefined && description !== undefined

const wholeOf = (schema: Schema): string =>
  `${isNamedWithComment(schema) ? schema.description : ''}${bodyOf(schema, () => null)}`

const commentOf = ({ description }: Schema): string =>
  description === undefined ? '' : `/** ${description.replaceAll('*/', '* /')} */ `

/** The name under which a type is declared; null if it is written out. */
type NameOf = (schema: Schema) => string | null

const typeOf = (schema: Schema, nameOf: NameOf): string => nameOf(schema) ?? bodyOf(schema, nameOf)

function bodyOf(schema: Schema, nameOf: NameOf): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(one => typeOf(one, nameOf)).join(' | ')
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  if (types.length === 0) throw new Error(`a schema without a type: ${JSON.stringify(schema)}`)
  return types.map(type => typeOfKind(type, schema, nameOf)).join(' | ')
}

function typeOfKind(type: string, schema: Schema, nameOf: NameOf): string {
  switch (type) {
    case 'integer':
      return 'number'
    case 'array': {
      const item = typeOf(schema.items ?? {}, nameOf)
      return /^\w+$/.test(item) ? `${item}[]` : `(${item})[]`
    }
    case 'object':
      return objectType(schema, nameOf)
    default:
      return type
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema, nameOf: NameOf): string {
  if (properties === undefined) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties, nameOf) : 'unknown'
    return `{ [name: string]: ${value} }`
  }
  const members = Object.entries(properties).map(([name, schema]) => {
    const comment = isNamedWithComment(schema) && nameOf(schema) !== null ? '' : commentOf(schema)
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    return `${comment}${key}${required.includes(name) ? '' : '?'}: ${typeOf(schema, nameOf)}`
  })
  return `{ ${members.join('; ')} }`
}

import { readFileSync } from 'node:fs'

/**
 * Writes the types of the contract out, from its schemas, so that what is shipped needs neither the contract nor the
 * library that it is written with.
 */

/** What is read of a schema: plain JSON Schema, of which the contract uses no more than this. */
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

/** Declarations for a source of lines such as `export type Key = Static<typeof keys.Key>`. */
export async function declarationsOf(source: string): Promise<string> {
  const text = readFileSync(source, 'utf8')
  const modules = new Map<string, Readonly<Record<string, Schema>>>()
  for (const [, name = '', from = ''] of text.matchAll(/^import type \* as (\w+) from '([^']+)'$/gm)) {
    modules.set(name, await import(from))
  }
  const lines = text.split('\n').filter(line => line.startsWith('export '))
  const declarations = lines.map(line => {
    const [, name, from = '', schema = ''] =
      /^export type (\w+) = Static<typeof (\w+)\.(\w+)>$/.exec(line) ?? []
    const found = modules.get(from)?.[schema]
    if (name === undefined || found === undefined) throw new Error(`cannot write out: ${line}`)
    return `export type ${name} = ${typeOf(found)};`
  })
  return `${declarations.join('\n')}\n`
}

export function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ')
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  if (types.length === 0) throw new Error(`a schema without a type: ${JSON.stringify(schema)}`)
  return types.map(type => typeOfKind(type, schema)).join(' | ')
}

function typeOfKind(type: string, schema: Schema): string {
  switch (type) {
    case 'integer':
      return 'number'
    case 'array':
      return `(${typeOf(schema.items ?? {})})[]`
    case 'object':
      return objectType(schema)
    default:
      return type
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (properties === undefined) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'
    return `{ [name: string]: ${value} }`
  }
  const members = Object.entries(properties).map(([name, schema]) => {
    const comment =
      schema.description === undefined ? '' : `/** ${schema.description.replaceAll('*/', '* /')} */ `
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    return `${comment}${key}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`
  })
  return `{ ${members.join('; ')} }`
}

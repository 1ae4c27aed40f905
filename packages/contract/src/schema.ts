import type typebox from 'typebox'

/**
 * Builders of JSON Schema with the types of TypeBox and without its code: the contract uses ten of its builders, and its
 * 370 modules took 70 of the 430 ms of processor time of a start. `schema.test.ts` compares each with the original.
 */
type Builders = Pick<
  typeof typebox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unsafe'
>

/** The schemas that `Optional` made: an object does not require such a property. A copy of one is not optional. */
const optional = new WeakSet<object>()

const ofType = (type: string) => (options?: object) => ({ type, ...options })

const object = (properties: Readonly<Record<string, object>>, options?: object) => {
  const required = Object.keys(properties).filter(name => !optional.has(properties[name] ?? {}))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

const builders = {
  Array: (items: object, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Integer: ofType('integer'),
  Literal: (value: string | number | boolean, options?: object) => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Number: ofType('number'),
  Object: object,
  Optional: (schema: object) => {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  String: ofType('string'),
  Union: (anyOf: readonly object[], options?: object) => ({ anyOf, ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
} satisfies Record<keyof Builders, unknown>

export const Type = builders as unknown as Builders

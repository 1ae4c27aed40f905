import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as original } from 'typebox'
import { Type } from './schema.ts'

/** One schema with every builder, with options and without. */
const built = (make: typeof Type) =>
  make.Object(
    {
      array: make.Array(make.String(), { maxItems: 3 }),
      bare: make.Array(make.Boolean()),
      boolean: make.Boolean({ default: false }),
      integer: make.Integer({ minimum: 0, maximum: 9 }),
      literals: make.Union([make.Literal('a'), make.Literal(1), make.Literal(true, { description: 'yes' })]),
      titled: make.Union([make.Literal(2), make.String()], { title: 'one of two' }),
      number: make.Number({ minimum: 0.5 }),
      maybe: make.Optional(make.String({ format: 'uuid' })),
      copied: make.Unsafe<string>({ ...make.Optional(make.String()), enum: ['a'] }),
      optional: make.Optional(make.Unsafe<string>({ type: ['string', 'null'] })),
      empty: make.Object({}),
      noneRequired: make.Object({ a: make.Optional(make.Integer()) }, { additionalProperties: false }),
    },
    { additionalProperties: false, description: 'all' },
  )

test('each builder writes the schema that TypeBox writes, member for member', () => {
  assert.equal(JSON.stringify(built(Type)), JSON.stringify(built(original)))
})

test('a schema that becomes optional in one object stays required in another', () => {
  const name = Type.String()
  Type.Object({ name: Type.Optional(name) })
  assert.deepEqual(Type.Object({ name }).required, ['name'])
})

import { formatEdges, patternEdges } from './edge-texts.ts'
import type { Fragment } from './spec-rows.ts'

/** A value at or beyond a bound. A refused value says where the error is, relative to the field. */
export type Edge = { value: unknown } & ({ ok: true } | { ok: false; at: string })

const ok = (value: unknown): Edge => ({ value, ok: true })
const bad = (value: unknown, at = ''): Edge => ({ value, ok: false, at })

/** The longest text that fits into a body of an open route. */
const longest = 'a'.repeat(15_000)

/**
 * Characters outside the Basic Multilingual Plane: each is one code point, two UTF-16 units and four bytes.
 * Neighbours differ, because a password of one repeated character is refused.
 */
const astral = (count: number) =>
  Array.from({ length: count }, (_, i) => String.fromCodePoint(0x1f600 + (i % 64))).join('')

/** Every bound of a schema: one below, at, and one above; and every JSON type that it does not allow. */
export function edgesOf(schema: Fragment): Edge[] {
  const types = [schema.type].flat() as string[]
  const wrong: Record<string, unknown[]> = {
    null: [null],
    boolean: [true],
    number: [5],
    string: ['5', 'true'],
    array: [[]],
    object: [{}],
  }
  const named = new Set(types.map(type => (type === 'integer' ? 'number' : type)))
  return [
    ...Object.entries(wrong).flatMap(([type, values]) =>
      named.has(type) ? [] : values.map(value => bad(value)),
    ),
    ...(named.has('null') ? [ok(null)] : []),
    ...types.flatMap(type => ofType[type]?.(schema) ?? []),
  ]
}

const ofType: Record<string, (schema: Fragment) => Edge[]> = {
  boolean: () => [ok(true), ok(false)],
  string: stringEdges,
  integer: schema => [...numberEdges(schema, 1), bad(1.5)],
  number: schema => [...numberEdges(schema, 0.001), ok(0.5)],
  array: arrayEdges,
  object: schema => {
    if (schema.properties !== undefined) return memberEdges(schema)
    return schema.propertyNames === undefined ? metaEdges() : recordEdges(schema)
  },
}

function stringEdges(schema: Fragment): Edge[] {
  const { minLength, maxLength, pattern, format } = schema as Record<string, number & string>
  if (schema.contentEncoding === 'base64') return base64Edges(maxLength ?? 0)
  if (schema.enum !== undefined) {
    const values = schema.enum.filter(value => value !== null) as string[]
    return [
      ...values.map(ok),
      ...values.flatMap(value => [bad(value.toUpperCase()), bad(`${value} `)]),
      bad(''),
    ]
  }
  const texts = pattern === undefined ? formatEdges[format ?? ''] : patternEdges[pattern]
  if (texts === undefined && (pattern ?? format) !== undefined)
    throw new Error(`no edges for ${pattern ?? format}`)
  if (texts !== undefined) return [...texts.ok.map(ok), ...texts.bad.map(text => bad(text)), bad(longest)]
  return [
    ok(astral(minLength ?? 0)),
    ...((minLength ?? 0) > 0 ? [bad(astral((minLength ?? 0) - 1))] : []),
    ok(astral(maxLength ?? 0)),
    bad(astral((maxLength ?? 0) + 1)),
    bad(longest),
  ]
}

/** Only the canonical encoding of the bytes is accepted: padded, no characters between, no bits left over. */
const base64Edges = (maxLength: number): Edge[] => [
  ...['', 'AA==', 'AAA=', '+/9A', 'A'.repeat(maxLength)].map(ok),
  ...['A', 'AA', 'AAA', 'AB==', 'AAB=', 'A===', 'AA==\n', 'AA ==', '-_9A', 'AA==AA==', 'AAAA='].map(text =>
    bad(text),
  ),
  ...[1, 4].map(more => bad('A'.repeat(maxLength + more))),
]

function numberEdges({ minimum, maximum }: Fragment, step: number): Edge[] {
  const [least, most] = [Number(minimum), Number(maximum)]
  return [bad(least - step), ok(least), ok(most), bad(most + step), bad(-most)]
}

function arrayEdges(schema: Fragment): Edge[] {
  const items = schema.items as Fragment
  const most = Number(schema.maxItems)
  const some = (count: number) => Array.from({ length: count }, (_, i) => validItem(items, i))
  const first = validItem(items, 0)
  return [
    schema.minItems === undefined ? ok([]) : bad([]),
    ok(some(most)),
    bad(some(most + 1)),
    bad(Array.from({ length: 2_000 }, () => first)),
    ...(schema['x-unique'] || schema['x-unique-by'] ? [bad([first, validItem(items, 1), first])] : []),
    ...edgesOf(items).map(edge =>
      edge.ok ? ok([edge.value]) : bad([validItem(items, 1), edge.value], `.1${edge.at}`),
    ),
  ]
}

/** A valid item, different for each place. */
function validItem(items: Fragment, place: number): unknown {
  if (items.type === 'object')
    return { id: `r${place}`, limit: 10, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }
  const pattern = String(items.pattern ?? '')
  if (pattern.includes('key_scope')) return `key_scope:s${place}`
  return pattern.startsWith('^https') ? `https://h${place}.example` : `s${place}`
}

/** Each member at its bounds while the others are valid, each one missing, and one unknown member. */
function memberEdges({ properties, required }: Fragment): Edge[] {
  const valid = validItem({ type: 'object' }, 0) as Record<string, unknown>
  return [
    ok(valid),
    bad({ ...valid, unknown: 1 }, '.unknown'),
    ...(required as string[]).map(name =>
      bad(Object.fromEntries(Object.entries(valid).filter(([n]) => n !== name)), `.${name}`),
    ),
    ...Object.entries(properties as Record<string, Fragment>).flatMap(([name, schema]) =>
      edgesOf(schema).map(edge => {
        const value = { ...valid, [name]: edge.value }
        return edge.ok ? ok(value) : bad(value, `.${name}${edge.at}`)
      }),
    ),
  ]
}

/** Names and values at their bounds; `x` stands for any name. */
function recordEdges({ propertyNames, additionalProperties }: Fragment): Edge[] {
  const longestName = 'a'.repeat(Number((propertyNames as Fragment).maxLength))
  return [
    ok({}),
    ok({ [longestName]: '', x: '' }),
    bad({ [`${longestName}a`]: '' }, `.${longestName}a`),
    ...edgesOf(additionalProperties as Fragment).map(edge =>
      edge.ok ? ok({ x: edge.value }) : bad({ x: edge.value }, `.x${edge.at}`),
    ),
  ]
}

/** At most 64 KiB of compact JSON, 256 members per level, an object at the top. */
function metaEdges(): Edge[] {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, i]))
  /** `{"x":"…"}` is 8 bytes plus its text. */
  const ofBytes = (count: number) => ({ x: 'é'.repeat(Math.floor((count - 8) / 2)) + 'a'.repeat(count % 2) })
  return [
    ok({}),
    ok(members(256)),
    bad(members(257)),
    ok({ x: [members(256)] }),
    bad({ x: [members(257)] }),
    ok(ofBytes(65_536)),
    bad(ofBytes(65_537)),
  ]
}

import type { AuditLog } from '@keyrail/contract/vendor/audit'

type Sign = '+' | '-' | ' '

export interface DifferenceLine {
  readonly sign: Sign
  readonly text: string
}

/** One field of a payload: what left, what came, what stayed. */
export interface Difference {
  readonly field: string
  readonly lines: readonly DifferenceLine[]
}

type Values = Record<string, unknown>
const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields that hold an address. Beside each stand its hash and its salt, which only a verifier of the chain reads. */
const addressFields = ['billing_email', 'email', 'invited_email']
const isErased = (values: Values, name: string) => !(name in values) && `${name}_hash` in values
const erased = 'erased'

/** The payload of a row as a difference, field by field. */
export function differencesOf({ action, payload }: Pick<AuditLog, 'action' | 'payload'>): Difference[] {
  const values = payload ?? {}
  const isMade = /\.(?:created|joined)$/.test(action)
  const isUpdate = action.endsWith('.updated')
  const gone = addressFields.filter(name => isErased(values, name))
  const shown = Object.keys(values).filter(
    name => !addressFields.some(field => name === `${field}_hash` || name === `${field}_salt`),
  )
  return [...shown, ...gone].map(field => {
    const value = values[field]
    if (isObject(value) && (isUpdate || (field === 'role' && 'new' in value)))
      return { field, lines: change(value) }
    const sign = isMade || field === 'successor' ? '+' : ' '
    return { field, lines: gone.includes(field) ? [{ sign, text: erased }] : signed(sign, textOf(value)) }
  })
}

const textOf = (value: unknown): string[] => (JSON.stringify(value, null, 2) ?? 'null').split('\n')
const signed = (sign: Sign, texts: readonly string[]): DifferenceLine[] => texts.map(text => ({ sign, text }))
const side = (values: Values, name: 'old' | 'new') =>
  isErased(values, name) ? [erased] : textOf(values[name])

const change = (values: Values): DifferenceLine[] => lineDifference(side(values, 'old'), side(values, 'new'))

/** More pairs of lines than this are not compared: all old lines stand before all new ones. */
const pairsMax = 1_000_000

/** The shortest list of lines to take out and to put in. */
export function lineDifference(old: readonly string[], next: readonly string[]): DifferenceLine[] {
  if (old.length * next.length > pairsMax) return [...signed('-', old), ...signed('+', next)]
  const width = next.length + 1
  // The length of the longest common part from line `a` of the old text and line `b` of the new one.
  const common = new Uint32Array((old.length + 1) * width)
  const at = (a: number, b: number) => common[a * width + b] ?? 0
  for (let a = old.length - 1; a >= 0; a--)
    for (let b = next.length - 1; b >= 0; b--)
      common[a * width + b] = old[a] === next[b] ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1))
  const lines: DifferenceLine[] = []
  let [a, b] = [0, 0]
  while (a < old.length || b < next.length) {
    if (a < old.length && b < next.length && old[a] === next[b]) {
      lines.push({ sign: ' ', text: old[a++] ?? '' })
      b++
    } else if (a < old.length && (b === next.length || at(a + 1, b) >= at(a, b + 1)))
      lines.push({ sign: '-', text: old[a++] ?? '' })
    else lines.push({ sign: '+', text: next[b++] ?? '' })
  }
  return lines
}

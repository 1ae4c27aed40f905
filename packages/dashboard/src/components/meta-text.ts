/** Finds the fault in a text that should be a JSON object. Each browser words such a fault differently, and some name no place. */

const token =
  /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/uy

class Fault extends Error {
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

interface Token {
  readonly text: string
  readonly at: number
}

function* tokensOf(text: string): Generator<Token> {
  token.lastIndex = 0
  for (;;) {
    const from = token.lastIndex
    const found = token.exec(text)
    if (found === null) {
      const rest = text.slice(from)
      const start = from + (rest.length - rest.trimStart().length)
      if (start < text.length) yield { text: '', at: start }
      return
    }
    const value = found[1] ?? found[2] ?? ''
    yield { text: value, at: token.lastIndex - value.length }
  }
}

function scan(text: string): void {
  const tokens = [...tokensOf(text)]
  let next = 0
  const take = (expected: string, fits: (text: string) => boolean): string => {
    const one = tokens[next]
    if (one === undefined) throw new Fault(text.trimEnd().length, `expected ${expected}, found the end`)
    if (!fits(one.text)) throw new Fault(one.at, `expected ${expected}`)
    next += 1
    return one.text
  }
  const peek = () => tokens[next]?.text
  const members = (end: string, member: () => void) => {
    if (peek() === end) return void take(end, () => true)
    do member()
    while (take(`a comma or ${end}`, one => one === ',' || one === end) === ',')
  }
  const value = (): void => {
    const first = take('a value', one => one !== '' && !'}],:'.includes(one))
    if (first === '[') members(']', value)
    if (first !== '{') return
    members('}', () => {
      take('a name in double quotes', one => one.startsWith('"'))
      take('a colon', one => one === ':')
      value()
    })
  }
  value()
  const rest = tokens[next]
  if (rest !== undefined) throw new Fault(rest.at, 'expected the end')
}

/** Null: the text is a JSON object. An empty text is one without members. */
export function faultOfMeta(text: string): string | null {
  if (text.trim() === '') return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? null
      : 'Line 1: metadata is an object, such as { "plan": "pro" }.'
  } catch {
    try {
      scan(text)
      return 'This is not valid JSON.'
    } catch (fault) {
      if (!(fault instanceof Fault)) return 'This is not valid JSON.'
      return `Line ${text.slice(0, fault.at).split('\n').length}: ${fault.message}.`
    }
  }
}

/** What an empty field means is an empty object. */
export const readMeta = (text: string): Record<string, unknown> =>
  JSON.parse(text.trim() === '' ? '{}' : text) as Record<string, unknown>

export const writeMeta = (meta: Record<string, unknown>): string =>
  Object.keys(meta).length === 0 ? '' : JSON.stringify(meta, null, 2)

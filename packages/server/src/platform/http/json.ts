import { type JSONPath, visit } from 'jsonc-parser'
import { invalidField, Refusal } from '../refusal.ts'

const mostDepth = 32
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const anyBytes = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Reads a JSON body more strictly than `JSON.parse`: valid UTF-8 without a byte-order mark, at most 32
 * levels deep unless more are asked for, no member name twice in an object, no NUL and no unpaired surrogate in any string, no
 * number that a double cannot hold. What would be read differently by the next program is refused.
 * @throws {Refusal} `malformed_json`, or `validation_failed` naming the path of a string or number.
 */
export function parseJson(bytes: Uint8Array, depthMax: number = mostDepth): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Refusal('malformed_json', 'The body is not valid UTF-8.')
  }
  if (text.startsWith('\uFEFF'))
    throw new Refusal('malformed_json', 'The body begins with a byte-order mark.')
  const { value, members } = parseShallow(text, depthMax)
  // Walking the text costs ten times the parsing; few bodies have anything that only the text can tell.
  if (text.includes('\\u') || !isPlain(value, members)) inspect(text)
  return value
}

/**
 * Reads a JSON body as it comes, where all of it must not be lost for what is odd in a part: only the depth is bounded,
 * and bytes that are no UTF-8 are read as U+FFFD. Its texts may hold NUL and unpaired surrogates.
 * @throws {Refusal} `malformed_json`.
 */
export const parseOddJson = (bytes: Uint8Array): unknown =>
  parseShallow(anyBytes.decode(bytes), mostDepth).value

function parseShallow(text: string, depthMax: number): { value: unknown; members: number } {
  const members = countMembers(text, depthMax)
  try {
    return { value: JSON.parse(text), members }
  } catch {
    throw new Refusal('malformed_json', 'The body is not well-formed JSON.')
  }
}

/**
 * Whether nothing was lost between text and value: as many members as the text has, so that none was named twice, and
 * no number that a double may not hold exactly. NUL and surrogates come by an escape alone.
 */
function isPlain(value: unknown, members: number): boolean {
  let found = 0
  let exact = true
  const walk = (part: unknown): void => {
    if (typeof part === 'number') exact &&= Math.abs(part) <= Number.MAX_SAFE_INTEGER
    else if (Array.isArray(part)) for (const inner of part) walk(inner)
    else if (typeof part === 'object' && part !== null) {
      for (const name of Object.keys(part)) {
        found += 1
        walk((part as Record<string, unknown>)[name])
      }
    }
  }
  walk(value)
  return exact && found === members
}

/**
 * How many members the objects of a text name, by the colons outside of strings. It is also what refuses depth, before
 * anything recursive sees the text.
 */
function countMembers(text: string, depthMax: number): number {
  let depth = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x22) i = endOfString(text, i)
    else if (char === 0x3a) members += 1
    else if (char === 0x5b || char === 0x7b) {
      depth += 1
      if (depth > depthMax)
        throw new Refusal('malformed_json', `The body is nested deeper than ${depthMax} levels.`)
    } else if (char === 0x5d || char === 0x7d) depth -= 1
  }
  return members
}

/** Where the string that begins here ends; the end of the text when it never does. Long ones are leapt over. */
function endOfString(text: string, start: number): number {
  for (let end = start; ; ) {
    end = text.indexOf('"', end + 1)
    if (end === -1) return text.length
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes += 1
    if (escapes % 2 === 0) return end
  }
}

/** Walks a text that is known to be well-formed JSON and not deep, telling what `JSON.parse` keeps quiet about. */
function inspect(text: string): void {
  const seen: Set<string>[] = []
  visit(text, {
    onObjectBegin: () => void seen.push(new Set()),
    onObjectEnd: () => void seen.pop(),
    onObjectProperty: (name, _offset, _length, _line, _column, pathTo) => {
      const path = [...pathTo(), name]
      assertText(name, path)
      if (seen.at(-1)?.has(name)) throw new Refusal('malformed_json', `${pathOf(path)}: is given twice`)
      seen.at(-1)?.add(name)
    },
    onLiteralValue: (value, offset, length, _line, _column, pathTo) => {
      if (typeof value === 'string') assertText(value, pathTo)
      if (typeof value === 'number') assertNumber(text.slice(offset, offset + length), pathTo)
    },
  })
}

function assertText(text: string, path: JSONPath | (() => JSONPath)): void {
  if (text.includes('\0')) throw invalidField(pathOf(path), 'must not contain NUL')
  if (!text.isWellFormed()) throw invalidField(pathOf(path), 'must not contain an unpaired surrogate')
}

/** RFC 7493: a number outside of a double's range or exactness would silently become another one. */
function assertNumber(text: string, path: () => JSONPath): void {
  const number = Number(text)
  if (!Number.isFinite(number)) throw invalidField(pathOf(path), 'is too large a number')
  if (/^-?\d+$/.test(text) && !Number.isSafeInteger(number)) {
    throw invalidField(pathOf(path), 'is an integer beyond 2^53; send it as a string')
  }
}

/** A path to show: what is odd in a name is made harmless, and no name is echoed at length. */
const pathOf = (path: JSONPath | (() => JSONPath)): string =>
  (typeof path === 'function' ? path() : path)
    .map(step => String(step).slice(0, 200).toWellFormed().replaceAll('\0', '\uFFFD'))
    .join('.') || 'body'

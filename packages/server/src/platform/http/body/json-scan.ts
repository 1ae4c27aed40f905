import { invalidField, Refusal } from '../../refusal.ts'
import { shownName } from '../shown-name.ts'

/** Limits on a text, counted before any of it is parsed. */
export interface JsonBounds {
  readonly depthMax: number
  /** Members of one object. */
  readonly membersMax: number
  /** Values in total, without member names. */
  readonly valuesMax: number
}

/** An open level of the text. It is reused for the next level at its depth. */
interface Level {
  isObject: boolean
  /** In an object: whether the next string is a name. */
  awaitsName: boolean
  /**
   * In an object the number of names so far; in a list the number of commas, which is the index of the next
   * value.
   */
  count: number
  name: string
  /** The names so far. If there are many names, a set has all of them as well. */
  readonly few: string[]
  many: Set<string> | null
}

/** Up to this number, names are compared one by one: most objects have fewer, and a set costs more than the comparisons. */
const fewMax = 8

/**
 * Walks through a text once and finds what `JSON.parse` accepts silently: duplicate members, escaped NUL and
 * unpaired surrogates, numbers that a double cannot hold. The result is meaningless if the text is not JSON.
 *
 * @returns the first fault, to be thrown once the text is known to be JSON; null if there is none.
 * @throws {Refusal} at once if a bound is exceeded, so that such a text is never parsed.
 */
export function scanJson(text: string, { depthMax, membersMax, valuesMax }: JsonBounds): Refusal | null {
  const levels: Level[] = []
  let depth = 0
  let values = 0
  let fault: Refusal | null = null
  /** The position of the next backslash. It only moves forward, so that all searches for it are linear. */
  let slashAt = text.indexOf('\\')

  const pathOf = (deep: number): string =>
    levels
      .slice(0, deep)
      .map(({ isObject, name, count }) => (isObject ? shownName(name) : String(count)))
      .join('.') || 'body'
  const note = (message: string | null) => {
    if (message !== null) fault ??= invalidField(pathOf(depth), message)
  }
  const readName = (level: Level, start: number, end: number) => {
    level.awaitsName = false
    level.count += 1
    if (level.count > membersMax)
      throw invalidField(pathOf(depth - 1), `must have at most ${membersMax} members a level`)
    const hasEscapes = slashAt !== -1 && slashAt < end
    level.name = hasEscapes ? decode(text.slice(start, end + 1)) : text.slice(start + 1, end)
    if (hasEscapes && fault === null) note(oddityOfText(text, slashAt, end))
    if (isTaken(level)) fault ??= new Refusal('malformed_json', `${pathOf(depth)}: is given twice`)
  }

  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    const level = levels[depth - 1]
    switch (char) {
      case 0x22: {
        if (slashAt !== -1 && slashAt < at) slashAt = text.indexOf('\\', at)
        const end = endOfString(text, at, slashAt)
        if (level?.isObject && level.awaitsName) readName(level, at, end)
        else {
          values += 1
          if (slashAt !== -1 && slashAt < end && fault === null) note(oddityOfText(text, slashAt, end))
        }
        at = end
        break
      }
      case 0x2c:
        if (level === undefined) break
        if (level.isObject) level.awaitsName = true
        else level.count += 1
        break
      case 0x7b:
      case 0x5b:
        values += 1
        if (depth === depthMax)
          throw new Refusal('malformed_json', `The body is nested deeper than ${depthMax} levels.`)
        openLevel(levels, depth, char === 0x7b)
        depth += 1
        break
      case 0x7d:
      case 0x5d:
        if (depth > 0) depth -= 1
        break
      // The first letters of true, false and null, which occur in them once.
      case 0x74:
      case 0x66:
      case 0x6e:
        values += 1
        break
      default: {
        if (char !== 0x2d && (char < 0x30 || char > 0x39)) break
        values += 1
        const end = endOfNumber(text, at)
        if (fault === null) note(oddityOfNumber(text, at, end))
        at = end - 1
      }
    }
    if (values > valuesMax) throw invalidField('body', `must have at most ${valuesMax} values`)
  }
  return fault
}

function openLevel(levels: Level[], depth: number, isObject: boolean): void {
  const level = levels[depth]
  if (level === undefined) {
    levels.push({ isObject, awaitsName: isObject, count: 0, name: '', few: [], many: null })
    return
  }
  level.isObject = isObject
  level.awaitsName = isObject
  level.count = 0
  level.few.length = 0
  level.many = null
}

/** Whether the object has the name already. Adds the name. */
function isTaken(level: Level): boolean {
  const { name, few, many } = level
  if (many !== null) {
    const isNew = !many.has(name)
    if (isNew) many.add(name)
    return !isNew
  }
  if (few.includes(name)) return true
  few.push(name)
  if (few.length > fewMax) level.many = new Set(few)
  return false
}

/** The end of the string that begins here, or of the text if it never ends. Skips over long strings. */
function endOfString(text: string, start: number, slashAt: number): number {
  for (let end = start; ; ) {
    end = text.indexOf('"', end + 1)
    if (end === -1) return text.length
    if (slashAt === -1 || slashAt > end) return end
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes += 1
    if (escapes % 2 === 0) return end
  }
}

/**
 * The fault of a string, searched from its first backslash on. A string without a backslash has no fault, because the bytes
 * were valid UTF-8.
 */
function oddityOfText(text: string, slashAt: number, end: number): string | null {
  let hasHalf = false
  /** Where the other half of a surrogate pair must be. */
  let lowAt = -1
  for (let at = slashAt; at !== -1 && at < end; at = text.indexOf('\\', at)) {
    if (text.charCodeAt(at + 1) !== 0x75) {
      at += 2
      continue
    }
    const code = Number.parseInt(text.slice(at + 2, at + 6), 16)
    if (code === 0) return 'must not contain NUL'
    const isLow = code >= 0xdc00 && code <= 0xdfff
    const isPaired = isLow && lowAt === at
    if (lowAt !== -1 && !isPaired) hasHalf = true
    else if (isLow && !isPaired) hasHalf = true
    lowAt = code >= 0xd800 && code <= 0xdbff ? at + 6 : -1
    at += 6
  }
  return hasHalf || lowAt !== -1 ? 'must not contain an unpaired surrogate' : null
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1
  for (; ; end++) {
    const char = text.charCodeAt(end)
    const isPart =
      (char >= 0x30 && char <= 0x39) ||
      char === 0x2e ||
      char === 0x2d ||
      char === 0x2b ||
      (char | 0x20) === 0x65
    if (!isPart) return end
  }
}

/** RFC 7493: a number outside a double's range or precision would silently become another number. */
function oddityOfNumber(text: string, start: number, end: number): string | null {
  // A number with so few digits is exact, unless an exponent makes it larger.
  if (end - start < 16 && !hasExponent(text, start, end)) return null
  const digits = text.slice(start, end)
  const number = Number(digits)
  if (!Number.isFinite(number)) return 'is too large a number'
  if (!Number.isSafeInteger(number) && /^-?\d+$/.test(digits))
    return 'is an integer beyond 2^53; send it as a string'
  return null
}

function hasExponent(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((text.charCodeAt(at) | 0x20) === 0x65) return true
  return false
}

function decode(literal: string): string {
  try {
    return JSON.parse(literal) as string
  } catch {
    throw new Refusal('malformed_json', 'The body is not well-formed JSON.')
  }
}

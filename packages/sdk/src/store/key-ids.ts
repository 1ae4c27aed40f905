/**
 * Key ids by slot in 16 bytes each, because the service's ids are UUIDs, and a million strings would burden the garbage
 * collector. An id becomes a string when its key is first verified. The feed allows other ids, which are kept as strings
 * in a map.
 */

export const ID_WORDS = 4

export class KeyIds {
  words = new Int32Array(0)
  /** Ids that are not lower-case UUIDs. */
  readonly others = new Map<number, string>()
  #texts: (string | undefined)[] = []
  /** The id that `isSought` looks for: its words, and its text if it is not a UUID. */
  readonly #sought = new Int32Array(ID_WORDS)
  #soughtOther: string | undefined

  /** Grows to this many slots. */
  reserve(capacity: number): void {
    const words = new Int32Array(capacity * ID_WORDS)
    words.set(this.words)
    this.words = words
    // Filled, because V8 turns an array that is written far beyond its end into a dictionary.
    const texts = new Array<string | undefined>(capacity).fill(undefined)
    for (let slot = 0; slot < this.#texts.length; slot++) texts[slot] = this.#texts[slot]
    this.#texts = texts
  }

  set(slot: number, id: string): void {
    this.seek(id)
    this.words.set(this.#sought, slot * ID_WORDS)
    if (this.#soughtOther !== undefined) this.others.set(slot, id)
  }

  clear(slot: number): void {
    this.#texts[slot] = undefined
    if (this.others.size > 0) this.others.delete(slot)
  }

  text(slot: number): string {
    const known = this.#texts[slot]
    if (known !== undefined) return known
    const text = this.others.get(slot) ?? uuidOf(this.words, slot * ID_WORDS)
    this.#texts[slot] = text
    return text
  }

  hash(slot: number): number {
    return hashOf(this.words, slot * ID_WORDS)
  }

  /** Sets the id that `isSought` looks for. @returns its hash */
  seek(id: string): number {
    const sought = this.#sought
    this.#soughtOther = undefined
    if (!readUuid(id, sought)) {
      this.#soughtOther = id
      sought.fill(0)
      for (let at = 0; at < id.length; at++)
        sought[0] = Math.imul((sought[0] as number) ^ id.charCodeAt(at), 0x01000193)
    }
    return hashOf(sought, 0)
  }

  isSought(slot: number): boolean {
    const { words } = this
    const sought = this.#sought
    const at = slot * ID_WORDS
    return (
      words[at] === sought[0] &&
      words[at + 1] === sought[1] &&
      words[at + 2] === sought[2] &&
      words[at + 3] === sought[3] &&
      // An id of another form is never equal to a UUID, even if their words are.
      (this.#soughtOther === undefined && this.others.size === 0
        ? true
        : this.others.get(slot) === this.#soughtOther)
    )
  }
}

/** Ids come from the service, so attackers cannot choose them to collide. */
function hashOf(words: Int32Array, at: number): number {
  const mixed =
    Math.imul(words[at + 3] as number, 0x9e3779b1) ^
    Math.imul(words[at + 2] as number, 0x85ebca6b) ^
    Math.imul(words[at + 1] as number, 0xc2b2ae35) ^
    (words[at] as number)
  return mixed ^ (mixed >>> 15)
}

const HYPHEN = 45
/** The positions of the digits of each of the four words in a UUID. */
const digitsAt = [
  [0, 1, 2, 3, 4, 5, 6, 7],
  [9, 10, 11, 12, 14, 15, 16, 17],
  [19, 20, 21, 22, 24, 25, 26, 27],
  [28, 29, 30, 31, 32, 33, 34, 35],
] as const

/** Value of a character as a digit of a lower-case UUID, -1 for any other. */
const digitOf = new Int8Array(128).fill(-1)
for (let digit = 0; digit < 16; digit++) digitOf['0123456789abcdef'.charCodeAt(digit)] = digit

/** Whether a text is a lower-case UUID. If so, writes its words into `into`. */
function readUuid(text: string, into: Int32Array): boolean {
  if (text.length !== 36) return false
  for (const at of [8, 13, 18, 23]) if (text.charCodeAt(at) !== HYPHEN) return false
  let beyond = 0
  for (let word = 0; word < ID_WORDS; word++) {
    let value = 0
    for (const at of digitsAt[word] as readonly number[]) {
      const character = text.charCodeAt(at)
      const digit = digitOf[character & 127] as number
      beyond |= (character & ~127) | (digit & ~15)
      value = (value << 4) | digit
    }
    into[word] = value
  }
  return beyond === 0
}

const characters: number[] = new Array(36).fill(HYPHEN)
const digits = Array.from('0123456789abcdef', digit => digit.charCodeAt(0))

/** Makes the string in one piece: a concatenated string is a tree, which takes ten times the memory. */
function uuidOf(words: Int32Array, from: number): string {
  for (let word = 0; word < ID_WORDS; word++) {
    let value = words[from + word] as number
    const places = digitsAt[word] as readonly number[]
    for (let at = 7; at >= 0; at--) {
      characters[places[at] as number] = digits[value & 15] as number
      value >>>= 4
    }
  }
  return String.fromCharCode(...characters)
}

import { Refusal } from '../refusal.ts'
import { type JsonBounds, scanJson } from './json-scan.ts'

/**
 * Beyond what any route takes: `meta`, which has the most, has 256 members a level and 64 KiB. What is made of a text
 * costs by its values, twice as much by members that are never the same, and a text of 1 MiB can have 100,000.
 */
export const jsonBounds: JsonBounds = { depthMax: 32, membersMax: 1_024, valuesMax: 65_536 }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const anyBytes = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Reads a JSON body more strictly than `JSON.parse`: valid UTF-8 without a byte-order mark, within the bounds, no member
 * name twice in an object, no NUL and no unpaired surrogate in any string, no number that a double cannot hold. What would
 * be read differently by the next program is refused.
 * @throws {Refusal} `malformed_json`, or `validation_failed` naming the path of a string, number or object.
 */
export function parseJson(bytes: Uint8Array, depthMax: number = jsonBounds.depthMax): unknown {
  const text = decodeJson(bytes)
  const fault = scanJson(text, { ...jsonBounds, depthMax })
  const value = parse(text)
  if (fault !== null) throw fault
  return value
}

function decodeJson(bytes: Uint8Array): string {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Refusal('malformed_json', 'The body is not valid UTF-8.')
  }
  if (text.startsWith('\uFEFF'))
    throw new Refusal('malformed_json', 'The body begins with a byte-order mark.')
  return text
}

/**
 * Reads a JSON body as it comes, where all of it must not be lost for what is odd in a part: only the depth is bounded,
 * and bytes that are no UTF-8 are read as U+FFFD. Its texts may hold NUL and unpaired surrogates.
 * @throws {Refusal} `malformed_json`.
 */
export function parseOddJson(bytes: Uint8Array): unknown {
  const text = anyBytes.decode(bytes)
  const unbounded = Number.POSITIVE_INFINITY
  scanJson(text, { depthMax: jsonBounds.depthMax, membersMax: unbounded, valuesMax: unbounded })
  return parse(text)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('malformed_json', 'The body is not well-formed JSON.')
  }
}

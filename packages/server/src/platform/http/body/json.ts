import { Refusal } from '../../refusal.ts'
import { type JsonBounds, scanJson } from './json-scan.ts'

/**
 * The limits allow more than any route accepts: `meta`, the largest field, has 256 members per level and 64 KiB. The cost of a
 * parsed text grows with its values, and doubles if member names differ; a text of 1 MiB can have 100,000 values.
 */
export const jsonBounds: JsonBounds = { depthMax: 32, membersMax: 1_024, valuesMax: 65_536 }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const anyBytes = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Reads a JSON body more strictly than `JSON.parse`: valid UTF-8 without a byte-order mark, within the bounds, no duplicate
 * member names, no NUL and no unpaired surrogates in strings, no number that a double cannot hold. So it refuses texts that
 * another program might read differently.
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
 * Reads a JSON body leniently, where an odd part must not make the service refuse the whole body: only the depth is limited,
 * and invalid UTF-8 is read as U+FFFD. Its texts may contain NUL and unpaired surrogates.
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

import { move, transferableSymbol, valueSymbol } from 'piscina'
import { lowerPriority } from '../../concurrency/lower-priority.ts'
import { Refusal } from '../../refusal.ts'
import { compile, type Validate } from '../validate.ts'
import { parseJson, parseOddJson } from './json.ts'
import type { Question, Reply } from './json-thread.ts'
import type { BodyReader } from './reader.ts'

lowerPriority()

/** Reads large bodies in its own thread. Buffers that a reader makes are transferred, not copied. */
export async function read({ bytes, isOdd, reader }: Question): Promise<unknown> {
  try {
    const parsed = isOdd ? parseOddJson(bytes) : parseJson(bytes)
    const value = reader === null ? parsed : (await readerOf(reader))(parsed)
    return move({ [valueSymbol]: { value } satisfies Reply, [transferableSymbol]: buffersOf(value) })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { code, detail, faults } = error
    return { code, detail, faults } satisfies Reply
  }
}

/** The memory of the large buffers among the members of a value. */
const buffersOf = (value: unknown): ArrayBuffer[] =>
  Object.values(value ?? {}).flatMap(member => {
    const isLarge = member instanceof Uint8Array && member.byteLength > sharedBytes
    return isLarge && member.buffer instanceof ArrayBuffer ? [member.buffer] : []
  })
/** A smaller buffer shares its memory with other buffers. */
const sharedBytes = Buffer.poolSize

const readers = new Map<string, (value: unknown) => unknown>()

async function readerOf(module: string): Promise<(value: unknown) => unknown> {
  const known = readers.get(module)
  if (known !== undefined) return known
  const { schema, read }: BodyReader<unknown, unknown> = await import(module)
  const validate: Validate = compile(schema, 'body')
  const judgeAndRead = (value: unknown) => {
    validate(value)
    return read(value)
  }
  readers.set(module, judgeAndRead)
  return judgeAndRead
}

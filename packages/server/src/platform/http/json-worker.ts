import { Refusal } from '../refusal.ts'
import { parseJson, parseOddJson } from './json.ts'
import type { Question, Reply } from './json-thread.ts'

/** The thread in which large bodies are read. */
export function read({ bytes, isOdd }: Question): Reply {
  try {
    return { value: isOdd ? parseOddJson(bytes) : parseJson(bytes) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { code, detail, faults } = error
    return { code, detail, faults }
  }
}

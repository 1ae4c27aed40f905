import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The cases as data, as `README.md` describes them. */

export type Json = Record<string, unknown>

/** What a driver is told to do. */
export interface Command extends Json {
  op: string
}

/** What one request must have asked. */
export interface Asked {
  path?: string
  /** Null: the parameter must be absent. */
  query?: Readonly<Record<string, string | null>>
  prefer?: string | null
  /** Names that `features` must have, among others. */
  features?: readonly string[]
  /** These members, at any depth. */
  body?: unknown
  /** `nonce` differs from all before. */
  fresh?: boolean
  /** Members of the body that are as in the request before, on the same path. */
  again?: readonly string[]
  /** Members of the body that differ from those of all requests before, on the same path. */
  anew?: readonly string[]
}

/** What the service answers to one request. */
export interface Answer {
  status?: number
  headers?: Readonly<Record<string, string>>
  body?: unknown
  text?: string
  base64?: string
  repeat?: { text: string; times: number }
  gzip?: boolean
  /** All bytes of the answer, in base64. */
  wire?: string
  end?: 'close' | 'reset' | 'hang' | 'drip' | 'flood'
  /** What `drip` sends every 20 ms, and `flood` as fast as it is read. */
  drip?: string
  hang?: boolean
  advance?: number
}

export type Step =
  /** The steps of this name in `shared.json`. */
  | { use: string }
  | { answer: Answer; asked?: Asked }
  | { do: Command; gives?: Json }
  /** Damages every file that the node has left in `cache_dir`. */
  | { disk: 'cut' | 'flip' | 'empty' }

export interface Case {
  name: string
  from: string
  open?: Json
  steps: readonly Step[]
}

/** A case whose shared steps stand in it, with the file that it comes from. */
export interface LoadedCase extends Case {
  file: string
  steps: readonly Exclude<Step, { use: string }>[]
}

const folder = join(import.meta.dirname, 'cases')
export const SHARED = 'shared.json'

/** All cases, sorted by file. */
export function loadCases(): LoadedCase[] {
  const shared: Record<string, Step[]> = read(SHARED)
  const files = readdirSync(folder).filter(file => file.endsWith('.json') && file !== SHARED)
  return files
    .toSorted()
    .flatMap(file => read<Case[]>(file).map(each => ({ ...each, file, steps: expanded(each.steps, shared) })))
}

const read = <T>(file: string): T => JSON.parse(readFileSync(join(folder, file), 'utf8')) as T

function expanded(
  steps: readonly Step[],
  shared: Readonly<Record<string, readonly Step[]>>,
): LoadedCase['steps'] {
  return steps.flatMap(step => {
    if (!('use' in step)) return [step]
    const used = shared[step.use]
    if (used === undefined) throw new Error(`${SHARED} has no steps ${step.use}`)
    return expanded(used, shared)
  })
}

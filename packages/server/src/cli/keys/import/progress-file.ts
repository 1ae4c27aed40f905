import { readFile } from 'node:fs/promises'
import { CommandFailed } from '../../failure.ts'
import { replaceFile } from '../replace-file.ts'

/** How far an import has come. It stands beside the file, so that the same command goes on where it stopped. */
export interface Progress {
  /** Records of the file that the service has answered. */
  records: number
  created: number
  /** Keys that were there already. */
  existing: number
  /** New or existing keys that servers refuse for a reason that their rows do not have. */
  inactive: number
  /** Keys that no longer work in their own system. */
  ended: number
  /** Keys of another environment or project. */
  others: number
  failed: number
  /** Bytes of the file with failed rows. */
  failedBytes: number
  /** Records of the file. */
  total: number
}

const numbers = [
  'records',
  'created',
  'existing',
  'inactive',
  'ended',
  'others',
  'failed',
  'failedBytes',
  'total',
] as const satisfies (keyof Progress)[]

/** What the progress belongs to: the content of the file, and what is done with it. */
export interface Work {
  readonly content: string
  readonly url: string
  readonly project: string
  readonly env: string
  readonly format: string
  readonly from: string | null
  readonly failedPath: string
}

const words: Readonly<Record<keyof Work, string>> = {
  content: 'The file has changed since its import began.',
  url: 'Its import began at another service.',
  project: 'Its import began with another --project.',
  env: 'Its import began with another --env.',
  format: 'Its import began with another --format.',
  from: 'Its import began with another --from.',
  failedPath: 'Its import began with another --failed.',
}

export const progressPath = (path: string): string => `${path}.progress`

/**
 * Null: nothing was begun.
 * @throws {CommandFailed} if the file or the command is another than the one that began
 */
export async function readProgress(path: string, work: Work): Promise<Progress | null> {
  const at = progressPath(path)
  const anew = `Remove ${at} to begin anew: keys that are there already stay as they are.`
  let text: string
  try {
    text = await readFile(at, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new CommandFailed(`${at} cannot be read: ${(error as Error).message}`)
  }
  const { of, progress } = parse(text) ?? {}
  if (
    of === undefined ||
    progress === undefined ||
    !numbers.every(name => Number.isSafeInteger(progress[name]))
  )
    throw new CommandFailed(`${at} is damaged. ${anew}`)
  for (const [name, fault] of Object.entries(words))
    if (of[name as keyof Work] !== work[name as keyof Work])
      throw new CommandFailed(`${path}: ${fault} Run it as it was. ${anew}`)
  return progress
}

function parse(text: string): { of?: Work; progress?: Progress } | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export const writeProgress = (path: string, work: Work, progress: Progress): Promise<void> =>
  replaceFile(progressPath(path), JSON.stringify({ of: work, progress }))

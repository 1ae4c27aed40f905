import { useState } from 'preact/hooks'
import type { EmbedError } from '../client/embed-error.ts'
import type { FieldFault } from '../errors.ts'
import type { Words } from './words/words.ts'

/** Whether the form itself says what the service does not accept, so that nothing else needs to. */
export const isMarked = ({ faults }: EmbedError) =>
  faults.some(({ path }) => /^(name|expires_at|allowed_cidrs|scopes\.)/.test(path))

/** The faults that the service has found in a form, by field. */
export function useFaults(words: Words) {
  const [faults, setFaults] = useState<readonly FieldFault[]>([])
  /** Whether it is the field itself, or an entry of its list. */
  const isRefused = (field: string) =>
    faults.some(({ path }) => path === field || path.startsWith(`${field}.`))
  return {
    /** Call it when the person changes the form. */
    forgive: () => setFaults([]),
    async learnFrom<T>(asked: Promise<T>): Promise<T> {
      setFaults([])
      asked.catch(error => setFaults(error.faults ?? []))
      return await asked
    },
    /** Attributes of the field. */
    marksOf: (path: string) => isRefused(path) && { 'aria-invalid': true, 'aria-describedby': path },
    /** @param entries those of a list of networks, of which the refused ones are named */
    faultOf(path: string, entries: readonly string[] = []) {
      const refused = entries.filter((_, at) => isRefused(`${path}.${at}`)).join(', ')
      return (
        isRefused(path) && (
          <p id={path} part="fault" role="alert">
            {refused && <bdi>{refused}: </bdi>}
            {words.text(refused ? 'networksRefused' : 'refused')}
          </p>
        )
      )
    },
  }
}

export type Faults = ReturnType<typeof useFaults>

import { useState } from 'preact/hooks'
import type { FieldFault } from '../errors.ts'
import type { Words } from './words/words.ts'

/** The faults that the service has found in a form, by field. */
export function useFaults(words: Words) {
  const [faults, setFaults] = useState<readonly FieldFault[]>([])
  /** The path of the field itself, or of an entry of its list. */
  const pathIn = (field: string) =>
    faults.map(one => one.path).find(path => path === field || path.startsWith(`${field}.`))
  const isRefused = (field: string) => pathIn(field) !== undefined
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
    /** @param entries those of a list, of which the refused one is named */
    faultOf(path: string, entries: readonly string[] = []) {
      const entry = entries[Number(pathIn(path)?.slice(path.length + 1) || Number.NaN)]
      return (
        isRefused(path) && (
          <p id={path} part="fault">
            {entry === undefined ? null : <bdi>{`${entry}: `}</bdi>}
            {words.text('refused')}
          </p>
        )
      )
    },
  }
}

export type Faults = ReturnType<typeof useFaults>

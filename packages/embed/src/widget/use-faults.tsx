import { useState } from 'preact/hooks'
import type { FieldFault } from '../errors.ts'
import type { Words } from './words/words.ts'

/** The faults that the service has found in a form, by field. */
export function useFaults(words: Words) {
  const [faults, setFaults] = useState<readonly FieldFault[]>([])
  const isRefused = (path: string) => faults.some(one => one.path === path)
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
    faultOf: (path: string) =>
      isRefused(path) && (
        <p id={path} part="fault">
          {words.text('refused')}
        </p>
      ),
  }
}

export type Faults = ReturnType<typeof useFaults>

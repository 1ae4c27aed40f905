import type { Env } from '@keyrail/contract/shared'
import { useEffect, useRef, useState } from 'react'
import { counted, countedAre } from '../../components/figures.ts'
import { saveFile } from '../../components/save-file.ts'
import { Trouble } from '../../components/trouble.tsx'
import { Working } from '../../components/working.tsx'
import { readMonth } from './read-month.ts'
import classes from './usage.module.css'

type Saving =
  | { state: 'reading'; rows: number }
  | { state: 'saved'; rows: number; file: string }
  | { state: 'failed'; error: unknown }

/** Saves all rows of a month as a file, until the person stops it or leaves. */
export function useSave(query: { month: string; env: Env }) {
  const [saving, setSaving] = useState<Saving | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const stop = () => {
    running.current?.abort()
    setSaving(null)
  }
  const save = async () => {
    const control = new AbortController()
    running.current = control
    setSaving({ state: 'reading', rows: 0 })
    try {
      const onRows = (rows: number) => setSaving({ state: 'reading', rows })
      const { text, rows } = await readMonth(query, { signal: control.signal, onRows })
      const file = `usage-${query.month.slice(0, 7)}-${query.env}.csv`
      // Excel reads a text as that of the machine's own language without the mark.
      saveFile(file, 'text/csv', ['\u{feff}', text])
      setSaving({ state: 'saved', rows, file })
    } catch (error) {
      if (!control.signal.aborted) setSaving({ state: 'failed', error })
    }
  }
  return { saving, save: () => void save(), stop }
}

interface SavedFileProps {
  readonly saving: Saving
  readonly onStop: () => void
  readonly onRetry: () => void
}

/** How far the file is. */
export function SavedFile({ saving, onStop, onRetry }: SavedFileProps) {
  if (saving.state === 'reading')
    return <Working onStop={onStop}>Reading the month: {counted(saving.rows, 'row')} so far…</Working>
  if (saving.state === 'failed') return <Trouble error={saving.error} onRetry={onRetry} />
  return (
    <p className={classes.saved} role="status">
      {countedAre(saving.rows, 'row')} in {saving.file}.
    </p>
  )
}

import { useSyncExternalStore } from 'react'
import { exactTime, relativeTime } from './time.ts'

const tickMs = 30_000
let now = Date.now()
const tick = (listener: () => void) => {
  now = Date.now()
  const timer = setInterval(() => {
    now = Date.now()
    listener()
  }, tickMs)
  return () => clearInterval(timer)
}

interface RelativeTimeProps {
  /** Null: it never happened. */
  readonly at: string | null
  /** What to say when it never happened. */
  readonly never?: string
}

/** How long ago or how soon, with the exact time on hover. */
export function RelativeTime({ at, never = 'Never' }: RelativeTimeProps) {
  const current = useSyncExternalStore(tick, () => now)
  if (at === null) return <>{never}</>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at, current)}
    </time>
  )
}

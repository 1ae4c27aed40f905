import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import type { EmbedError } from '../client/embed-error.ts'
import type { EmbedKey } from '../types.ts'
import type { At } from './at.ts'
import { hear } from './hear.ts'
import { inactiveBy, vendorOf } from './key-words.ts'
import type { Words } from './words/words.ts'

/** How long to wait where the service does not say, in seconds. */
const waitS = 10

/** Why a change failed, inside its dialog, where everything typed stays; or why the keys cannot be shown. */
export function Refused({
  at,
  trouble,
  of,
  children,
}: {
  at: At
  trouble: EmbedError
  /** The key of the change. */
  of?: EmbedKey | undefined
  children?: ComponentChildren
}) {
  const { words } = at
  const { code, requestId, isOutcomeUnknown, retryAfterS } = trouble
  const { session, trouble: ofLoad } = at.keyring.shown()
  // A load that is not allowed is a mistake of the vendor's, who needs the reference.
  const isTaken = code === 'insufficient_scope' && trouble !== ofLoad
  const name = isTaken ? (session?.tenant.suspended ? 'suspended' : 'notAllowed') : nameOf(code)
  return (
    <div class="trouble" part="trouble" role="alert">
      <strong>
        {name === 'notActive' ? inactiveBy(of?.id, at) : words.text(name, { vendor: vendorOf(session) })}
      </strong>
      {isOutcomeUnknown ? <p>{words.text('lost')}</p> : null}
      {children ?? (retryAfterS === null ? null : <Wait at={at} left={retryAfterS} />)}
      {name === 'failed' && requestId !== null ? (
        <p class="quiet">{words.text('reference', { id: requestId })}</p>
      ) : null}
    </div>
  )
}

function Wait({ at: { words }, left }: { at: At; left: number }) {
  return <p class="quiet">{words.text('wait', { time: words.span(left, 'second') })}</p>
}

interface TroubleProps {
  readonly at: At
  readonly trouble: EmbedError
  readonly onRetry: () => void
  readonly isBusy: boolean
}

/** Why the keys cannot be shown, and what to do. A passing failure is tried again by itself. */
export function Trouble({ at, trouble, onRetry, isBusy }: TroubleProps) {
  const { words } = at
  const left = useWait(trouble, onRetry)
  return (
    <Refused at={at} trouble={trouble}>
      {left === null ? null : (
        <div aria-hidden="true">
          <Wait at={at} left={left} />
        </div>
      )}
      {trouble.code === 'origin_not_allowed' ? null : (
        <button type="button" part="button" aria-disabled={isBusy} onClick={() => isBusy || onRetry()}>
          {words.text('retry')}
        </button>
      )}
    </Refused>
  )
}

/** Counts down to the next try; tries again when the network is back. Null: there is nothing to count. */
function useWait(trouble: EmbedError, onRetry: () => void): number | null {
  const { code, retryAfterS } = trouble
  const seconds = ['too_many_requests', 'unavailable', 'token_awaited'].includes(code)
    ? (retryAfterS ?? waitS)
    : null
  const [left, setLeft] = useState(seconds)
  // At once: the network may be back before the browser paints again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each trouble has one countdown.
  useLayoutEffect(() => {
    setLeft(seconds)
    if (seconds === null) return nameOf(code) === 'ended' ? undefined : hear(globalThis, ['online'], onRetry)
    let rest = seconds
    const timer = setInterval(() => {
      rest -= 1
      setLeft(Math.max(0, rest))
      // A hidden tab asks for nothing.
      if (rest > 0 || document.hidden) return
      clearInterval(timer)
      onRetry()
    }, 1_000)
    return () => clearInterval(timer)
  }, [trouble])
  return left
}

const names: Readonly<Partial<Record<EmbedError['code'], Parameters<Words['text']>[0]>>> = {
  session_ended: 'ended',
  token_awaited: 'awaited',
  offline: 'offline',
  too_many_requests: 'busy',
  origin_not_allowed: 'origin',
  unavailable: 'unavailable',
  unreachable: 'unavailable',
  misconfigured: 'unavailable',
  timed_out: 'unavailable',
  key_limit_reached: 'keyLimit',
  key_not_active: 'notActive',
  not_found: 'notActive',
}
const nameOf = (code: EmbedError['code']) => names[code] ?? 'failed'

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { At } from './at.ts'
import { hear } from './hear.ts'
import { KeyRow } from './key-row.tsx'
import type { Keyring, NewSecret, Shown } from './keyring.ts'
import { type Open, OpenDialog, type Said } from './open-dialog.tsx'
import { keepPlace } from './place.ts'
import { Standing } from './standing.tsx'
import { Trouble } from './trouble.tsx'
import { useDates } from './use-dates.ts'
import type { Words } from './words/words.ts'

interface AppProps {
  readonly keyring: Keyring
  readonly words: Words
  readonly density: string
}

export function App({ keyring, words, density }: AppProps) {
  const [, redraw] = useState({})
  // Subscribes before any answer can come.
  useLayoutEffect(() => keyring.subscribe(() => redraw({})), [keyring])
  useLayoutEffect(() => hear(globalThis, ['visibilitychange', 'online'], keyring.wake), [keyring])
  const shown = keyring.shown()
  const self = useRef<HTMLDivElement>(null)
  const root = self.current?.getRootNode() as ShadowRoot | undefined
  // Drawing may remove the element that has the focus.
  const giveBack = root?.activeElement ? keepPlace(root) : null
  useLayoutEffect(() => giveBack?.())
  const { accent, radius } = shown.session?.theme ?? {}
  // Without a theme, properties of the page with these names must not apply: `all` does not reset custom properties.
  const theme = {
    '--theme-accent': accent ?? 'initial',
    '--theme-radius': radius == null ? 'initial' : `${radius}px`,
  }
  return (
    <div
      ref={self}
      class="root"
      part="root"
      data-density={density}
      style={theme}
      lang={words.language}
      dir={words.dir}
    >
      {/* Another key for another tenant: no state of the tenant before stays. */}
      <Keys key={shown.tenants} shown={shown} at={{ words, keyring }} />
    </div>
  )
}

function Keys({ shown, at: { words, keyring } }: { shown: Shown; at: At }) {
  const [open, setOpen] = useState<Open | null>(null)
  const [status, setStatus] = useState('')
  const { session, keys, trouble, isLoading, hasMore } = shown
  const at = { words, keyring, hasDates: useDates(keys !== null) }
  const close = () => setOpen(null)
  const ask = (next: Open) => {
    // A status that says the same again is not read aloud.
    setStatus('')
    setOpen(next)
  }
  const finish = (name: Said) => {
    setStatus(words.text(name))
    close()
  }
  const show = (secret: NewSecret) => setOpen({ kind: 'secret', secret })
  const retry = () => void keyring.load()
  const isEnded = trouble?.code === 'session_ended' || trouble?.code === 'origin_not_allowed'
  const listed = isEnded ? null : keys
  return (
    <>
      {session?.theme.logo_text && (
        <p class="quiet" part="logo">
          {session.theme.logo_text}
        </p>
      )}
      <div class="head" part="head">
        <h2 part="heading" tabIndex={-1}>
          {words.text('heading')}{' '}
          {session && (
            <bdi class="quiet" part="project">
              {session.project.name}
            </bdi>
          )}{' '}
          {session?.env === 'test' && (
            <span class="test" part="test">
              {words.text('test')}
            </span>
          )}
        </h2>
        {session?.can.write && !isEnded && (
          <button type="button" class="primary" part="button primary" onClick={() => ask({ kind: 'create' })}>
            {words.text('create')}
          </button>
        )}
      </div>
      {trouble && <Trouble at={at} trouble={trouble} onRetry={retry} isBusy={isLoading} />}
      {session === null && trouble === null && (
        <div class="loading" part="loading" role="status">
          <span class="unseen">{words.text('loading')}</span>
          <i />
          <i />
          <i />
        </div>
      )}
      {session !== null && !isEnded && (
        <Standing words={words} session={session} onRestrict={() => ask({ kind: 'restrict' })} />
      )}
      {listed !== null && session !== null ? (
        listed.length === 0 ? (
          <p class="empty" part="empty">
            {words.text('empty')}
          </p>
        ) : (
          // biome-ignore lint/a11y/noRedundantRoles: Safari takes a list without marks for none.
          <ul class="keys" part="keys" role="list" aria-label={words.text('heading')} aria-busy={isLoading}>
            {listed.map(key => (
              <KeyRow
                at={at}
                key={key.id}
                of={key}
                can={session.can}
                isReplaced={listed.some(({ id }) => id === key.rotated_to)}
                onEdit={() => ask({ kind: 'edit', key })}
                onRotate={() => ask({ kind: 'rotate', key })}
                onPause={() => ask({ kind: 'pause', key })}
                onResume={() => ask({ kind: 'resume', key })}
                onRevoke={() => ask({ kind: 'revoke', key })}
              />
            ))}
          </ul>
        )
      ) : null}
      {hasMore && listed !== null && (
        <p class="quiet" part="note">
          {words.text('newest', { count: words.number(listed.length) })}
        </p>
      )}
      <div role="status" class="unseen">
        {status}
      </div>
      {open !== null && (
        <OpenDialog at={at} of={open} session={session} onClose={close} onMade={show} onDone={finish} />
      )}
    </>
  )
}

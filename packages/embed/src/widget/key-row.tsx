import type { EmbedKey, EmbedSession } from '../types.ts'
import type { At } from './at.ts'
import { Bars } from './bars.tsx'
import { hasEnded, lifeOf, nameOf, pausedBy, prefixOf } from './key-words.ts'

interface KeyRowProps {
  readonly at: At
  readonly of: EmbedKey
  readonly can: EmbedSession['can']
  /** Whether the list has the successor of the key. A list has newer keys first, so a successor that is missing is revoked. */
  readonly isReplaced: boolean
  readonly onEdit: () => void
  readonly onRotate: () => void
  readonly onPause: () => void
  readonly onResume: () => void
  readonly onRevoke: () => void
}

export function KeyRow({
  at,
  of: key,
  can,
  isReplaced,
  onEdit,
  onRotate,
  onPause,
  onResume,
  onRevoke,
}: KeyRowProps) {
  const { words, keyring, hasDates } = at
  const name = nameOf(key, words)
  const isOver = hasEnded(key, keyring.now())
  const paused = isOver ? null : pausedBy(key, at)
  // The successor has the same scopes, which the token must be able to give.
  const mayRotate =
    can.write &&
    !isOver &&
    paused === null &&
    !isReplaced &&
    key.scopes.every(one => can.key_scopes.includes(one))
  return (
    <li part="key" tabIndex={-1}>
      <div class="what">
        <h3 part="key-name">
          <bdi>{name}</bdi>
        </h3>
        <code part="key-prefix" dir="ltr">
          {prefixOf(key)}
        </code>
        {paused === null ? null : (
          <p class="paused" part="key-paused">
            <bdi>{paused}</bdi>
          </p>
        )}
        {/* Null: as all keys of the tenant. A service that is older than the widget sends none. */}
        {key.allowed_cidrs == null ? null : (
          <p class="quiet" part="key-networks">
            {words.text('networks')}:{' '}
            <bdi>
              {key.allowed_cidrs.length === 0 ? words.text('everywhere') : key.allowed_cidrs.join(', ')}
            </bdi>
          </p>
        )}
        {key.scopes.length === 0 ? null : (
          <ul class="scopes" aria-label={words.text('scopes')}>
            {key.scopes.map(scope => (
              <li key={scope} part="scope">
                <bdi>{scope}</bdi>
              </li>
            ))}
          </ul>
        )}
        <p class={hasDates ? 'quiet life' : 'quiet life later'} part="key-life">
          {lifeOf(key, at).map(line => (
            <span key={line}>{line}</span>
          ))}
        </p>
      </div>
      <Bars at={at} id={key.id} />
      {can.write ? (
        <div class="actions" part="actions">
          {/* A service that is older than the widget sends no `update`. */}
          {can.update && !isOver ? (
            <button
              type="button"
              part="button"
              aria-label={words.text('editNamed', { name })}
              onClick={onEdit}
            >
              {words.text('edit')}
            </button>
          ) : null}
          {mayRotate ? (
            <button
              type="button"
              part="button"
              aria-label={words.text('rotateNamed', { name })}
              onClick={onRotate}
            >
              {words.text('rotate')}
            </button>
          ) : null}
          {can.pause && !isOver && paused === null ? (
            <button
              type="button"
              part="button"
              aria-label={words.text('pauseNamed', { name })}
              onClick={onPause}
            >
              {words.text('pause')}
            </button>
          ) : null}
          {can.pause && paused !== null && key.disabled_by === 'tenant' ? (
            <button
              type="button"
              part="button"
              aria-label={words.text('resumeNamed', { name })}
              onClick={onResume}
            >
              {words.text('resume')}
            </button>
          ) : null}
          <button
            type="button"
            part="button"
            aria-label={words.text('revokeNamed', { name })}
            onClick={onRevoke}
          >
            {words.text('revoke')}
          </button>
        </div>
      ) : null}
    </li>
  )
}

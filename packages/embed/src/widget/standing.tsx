import type { EmbedSession } from '../types.ts'
import { vendorOf } from './key-words.ts'
import type { Words } from './words/words.ts'

interface StandingProps {
  readonly words: Words
  readonly session: EmbedSession
  readonly onRestrict: () => void
}

/** What holds for all keys: that the vendor refuses them, and from where they work. */
export function Standing({ words, session, onRestrict }: StandingProps) {
  const { tenant, can } = session
  // A service that is older than the widget sends no networks.
  const networks = tenant.allowed_cidrs ?? []
  return (
    <>
      {tenant.suspended && (
        <p class="suspended" part="suspended" role="status">
          {words.text('suspended', { vendor: vendorOf(session) })}
        </p>
      )}
      {(networks.length > 0 || can.tenant_network) && (
        <p class="quiet networks" part="networks">
          <span>
            {words.text('networksAll')}:{' '}
            <bdi>{networks.length === 0 ? words.text('everywhere') : networks.join(', ')}</bdi>
          </span>
          {can.tenant_network && (
            <button
              type="button"
              part="button"
              aria-label={`${words.text('edit')}: ${words.text('networksAll')}`}
              onClick={onRestrict}
            >
              {words.text('edit')}
            </button>
          )}
        </p>
      )}
    </>
  )
}

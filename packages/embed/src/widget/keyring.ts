import { changed } from '../client/calls.ts'
import type { EmbedClient } from '../client/embed-client.ts'
import { EmbedError, isEmbedError } from '../client/embed-error.ts'
import { awaited, type TokenChange } from '../client/tokens.ts'
import type { EmbedKey, EmbedKeyUpdate, EmbedSession } from '../types.ts'
import type { Emit } from './events.ts'
import { createUsage, type UsageFigures } from './usage.ts'

/** What the widget shows, apart from its dialogs. */
export interface Shown {
  readonly session: EmbedSession | null
  readonly keys: readonly EmbedKey[] | null
  readonly hasMore: boolean
  /** Why the newest load failed. */
  readonly trouble: EmbedError | null
  readonly isLoading: boolean
  /** Grows when another tenant's token comes: whatever belongs to the tenant before is gone. */
  readonly tenants: number
}

export interface NewSecret {
  readonly key: string
  /** For the old key of a rotation. */
  readonly oldEndsAt?: string | null
}

/** The keys of a token's tenant: loads them, changes them, and forgets them with the tenant. */
export interface Keyring {
  readonly usage: UsageFigures
  shown(): Shown
  subscribe(onChange: () => void): () => void
  /** The service's time, in milliseconds since 1970. */
  now(): number
  load(): Promise<void>
  /** Loads a list that is older than a minute, in a tab that is seen. */
  wake(): void
  /** @throws {EmbedError} as all that change something. */
  create(settings: { name?: string; scopes: string[] }): Promise<NewSecret>
  update(key: EmbedKey, settings: EmbedKeyUpdate): Promise<void>
  rotate(key: EmbedKey, overlapHours: number): Promise<NewSecret>
  revoke(key: EmbedKey): Promise<void>
  onTokenChange(change: TokenChange): void
  /** The page gives tokens by another function. */
  onNewSource(): void
}

const listMax = 100
const oldMs = 60_000

export function createKeyring(client: EmbedClient, emit: Emit): Keyring {
  const listeners = new Set<() => void>()
  const nothing = { session: null, keys: null, hasMore: false, trouble: null, isLoading: true }
  let shown: Shown = { ...nothing, tenants: 0 }
  let newest = 0
  let loadedAt = 0
  /** Whether another function of the page has been tried since the keys were last loaded. */
  let hasTried = false
  /** What the console has said. */
  let advised: string | null = null

  // A client that a test of the page has made may have no clock.
  const now = () => client.now?.() ?? Date.now()
  const redraw = () => {
    for (const listener of listeners) listener()
  }
  const show = (next: Partial<Shown>) => {
    shown = { ...shown, ...next }
    redraw()
  }
  const usage = createUsage(client, redraw)

  /** Forgets the tenant before. A load that is under way is for this tenant. */
  function forget(): void {
    newest += 1
    usage.clear()
    show({ ...nothing, tenants: shown.tenants + 1 })
  }

  async function load(isRepeat = false): Promise<void> {
    newest += 1
    const mine = newest
    show({ isLoading: true })
    try {
      const session = await client.session()
      const page = session.can.read ? await client.list({ limit: listMax }) : null
      if (mine !== newest) return
      hasTried = false
      loadedAt = now()
      usage.renew()
      show({
        session,
        keys: page?.data ?? null,
        hasMore: page?.has_more ?? false,
        trouble: null,
        isLoading: false,
      })
    } catch (error) {
      if (mine !== newest) return
      const trouble = report(error)
      if (trouble.code === 'tenant_changed') {
        // A client without `onTokenChange` has said so here only.
        forget()
        if (!isRepeat) return await load(true)
      }
      show({ trouble, isLoading: false })
    }
  }

  /** No event if the reason is the page itself: it has moved on to another tenant, or has closed the client. */
  function report(error: unknown): EmbedError {
    const trouble = isEmbedError(error)
      ? error
      : new EmbedError('unreachable', String(error), { cause: error })
    const { code, message, requestId } = trouble
    if (code === 'tenant_changed' || code === 'closed') return trouble
    emit('error', { code, message, request_id: requestId })
    if (code === 'session_ended') emit('session-ended', {})
    // The person who reads the page cannot fix it; the developer who opens the console can.
    if (['misconfigured', 'origin_not_allowed', 'token_awaited'].includes(code) && message !== advised) {
      advised = message
      console.error(`<keyrail-keys>: ${message}`)
    }
    return trouble
  }

  /** @throws what the call throws, after it is reported. */
  async function change<T>(call: () => Promise<T>): Promise<T> {
    const { tenants } = shown
    try {
      const answer = await call()
      if (tenants === shown.tenants) return answer
    } catch (error) {
      const trouble = report(error)
      if (trouble.code === 'tenant_changed' && tenants === shown.tenants) onTokenChange('tenant')
      throw trouble
    }
    throw changed()
  }

  function onTokenChange(change: TokenChange): void {
    if (change === 'late') {
      // A form waits for its answer.
      if (shown.isLoading) show({ trouble: report(awaited()), isLoading: false })
      return
    }
    if (change === 'tenant') forget()
    // After the call that got the token, which fails or answers for the tenant before.
    queueMicrotask(() => void load())
  }

  return {
    usage,
    shown: () => shown,
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
    now,
    load: () => load(),
    wake() {
      const isShown = !document.hidden && shown.trouble === null && !shown.isLoading
      if (isShown && now() - loadedAt > oldMs) void load()
    },
    async create(settings) {
      const made = await change(() => client.create(settings))
      emit('created', { id: made.id, name: made.name, display_prefix: made.display_prefix })
      void load()
      return { key: made.key }
    },
    async update({ id }, settings) {
      const updated = await change(() => client.update(id, settings))
      const { name, expires_at } = updated
      show({ keys: shown.keys?.map(key => (key.id === id ? updated : key)) ?? null })
      emit('updated', { id, name, expires_at })
      void load()
    },
    async rotate({ id }, overlapHours) {
      const made = await change(() => client.rotate(id, { overlap_hours: overlapHours }))
      emit('rotated', { id: made.id, rotated_from: id, display_prefix: made.display_prefix })
      void load()
      return { key: made.key, oldEndsAt: made.predecessor.expires_at }
    },
    async revoke({ id }) {
      await change(() => client.revoke(id))
      show({ keys: shown.keys?.filter(key => key.id !== id) ?? null })
      emit('revoked', { id })
      void load()
    },
    onTokenChange,
    onNewSource() {
      // A page that draws again gives another function each time: a session that has ended is tried once.
      if (hasTried || !['session_ended', 'misconfigured'].includes(shown.trouble?.code ?? '')) return
      hasTried = true
      void load()
    },
  }
}
